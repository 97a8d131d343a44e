package chaos

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"slurmflex/flex/plan/memo"
)

// moves knows the jobs that are on their way to kept machines, and counts what becomes
// of them.
type moves struct {
	mu    sync.Mutex
	open  map[uint32]openMove
	trap  *ambush // for the next one; nil: none
	count moveCount
}

// openMove is a job for which machines have been reserved.
type openMove struct {
	nodes []string
	begun time.Time
}

// moveCount counts moves to kept machines.
type moveCount struct {
	begun  int // with a reservation of their own
	done   int // the job runs there
	failed int // the reservation has gone, and it does not
	busy   int // the reservation was refused: somebody had been faster
	met    int // something was made to happen in between
}

func (c *moveCount) add(more moveCount) {
	c.begun += more.begun
	c.done += more.done
	c.failed += more.failed
	c.busy += more.busy
	c.met += more.met
}

func (c moveCount) String() string {
	return fmt.Sprintf("%d moves to kept machines: %d done, %d failed; %d refused as busy; %d ambushed", c.begun, c.done, c.failed, c.busy, c.met)
}

func (m *moves) lieInWait(e ambush) {
	defer locked(&m.mu)()
	m.trap = &e
}

// meet takes the ambush that waits at a step, if there is one.
func (m *moves) meet(at moveStep, job uint32, nodes []string) (ambush, bool) {
	defer locked(&m.mu)()
	if job == 0 || len(nodes) == 0 || m.trap == nil || m.trap.at != at {
		return ambush{}, false
	}
	e := *m.trap
	m.trap = nil
	m.count.met++
	return e, true
}

func (m *moves) begin(job uint32, nodes []string) {
	defer locked(&m.mu)()
	if m.open == nil {
		m.open = map[uint32]openMove{}
	}
	m.open[job] = openMove{slices.Clone(nodes), time.Now()}
	m.count.begun++
}

func (m *moves) busy() {
	defer locked(&m.mu)()
	m.count.busy++
}

// to are the nodes that a job moves to; nil: it does not move.
func (m *moves) to(job uint32) []string {
	defer locked(&m.mu)()
	return m.open[job].nodes
}

// countsOn is the job whose move counts on a node; 0 if there is none.
func (m *moves) countsOn(node string) (job uint32, since time.Time) {
	defer locked(&m.mu)()
	for id, t := range m.open {
		if slices.Contains(t.nodes, node) {
			return id, t.begun
		}
	}
	return 0, time.Time{}
}

// look ends the moves of jobs that run where they were to, and those whose reservation
// has gone.
func (m *moves) look(w *world) {
	m.mu.Lock()
	some := len(m.open) > 0
	m.mu.Unlock()
	if !some {
		return
	}
	reservations, err := w.slurm.Reservations(w.ctx)
	if err != nil {
		return
	}
	there := map[uint32]bool{}
	for _, r := range reservations {
		if h := memo.ParseHold(cluster, r.Name); h.Kind == memo.MoveHold {
			there[h.Job] = true
		}
	}
	queue, _ := w.watch.all()
	defer locked(&m.mu)()
	for _, l := range queue {
		if t, open := m.open[l.ID]; open && !l.runs.IsZero() && !slices.ContainsFunc(t.nodes, func(n string) bool { return !slices.Contains(l.Nodes, n) }) {
			m.count.done++
			delete(m.open, l.ID)
		}
	}
	for id := range m.open {
		if !there[id] {
			m.count.failed++
			delete(m.open, id)
		}
	}
}

func (m *moves) soFar() moveCount {
	defer locked(&m.mu)()
	return m.count
}
