package chaos

import (
	"slices"
	"strings"
	"sync"
	"time"

	"slurmflex/slurm"
	"slurmflex/test/fakeslurm"
)

// watch keeps an eye on jobs and nodes as they really are, whatever the product
// is told of them.
type watch struct {
	slurm   *fakeslurm.Cluster
	journal *journal

	mu        sync.Mutex
	nodes     map[string]slurm.Node
	lives     map[uint32]*life
	excused   map[uint32]bool      // by array id: jobs that the script itself has ended
	staying   map[uint32]bool      // by array id: jobs that Slurm would not requeue
	relimited map[uint32]bool      // by array id: jobs whose limit the script has changed
	down      map[string]time.Time // when nodes were last seen powered down, or on the way there
	forgotten map[string]bool      // nodes that slurmctld takes for powered down since it has lost its state
	desperate time.Time            // until when something may fail of which only an admin can fix the cause
}

// life is what became of a job, or of a task of an array.
type life struct {
	slurm.Job
	given    time.Time // when it was given its nodes
	runs     time.Time // since when it runs; zero while it does not
	queued   bool      // it is still in the queue
	taken    bool      // the world has taken a node from it
	hopeless bool      // something failed in its time of which only an admin can fix the cause
	stays    bool      // Slurm would not requeue it
	dropped  bool      // we have cancelled it, as on_provision_timeout says
}

func newWatch(c *fakeslurm.Cluster, j *journal) *watch {
	return &watch{
		slurm: c, journal: j, nodes: map[string]slurm.Node{}, lives: map[uint32]*life{},
		excused: map[uint32]bool{}, staying: map[uint32]bool{}, relimited: map[uint32]bool{}, down: map[string]time.Time{}, forgotten: map[string]bool{},
	}
}

// look takes over how things are, and returns the jobs that have begun to run,
// with the limit that they were submitted with and all nodes that they were
// given.
// While slurmctld does not answer things are as they were.
func (w *watch) look(nodes []slurm.Node, jobs []slurm.Job) (started []life) {
	defer locked(&w.mu)()
	now := time.Now()
	for _, n := range nodes {
		if n.State != w.nodes[n.Name].State {
			w.journal.note("node %s is %s (%s)", n.Name, n.State, n.Reason)
		}
		w.nodes[n.Name] = n
		if !n.State.Has(slurm.PoweredDown) {
			delete(w.forgotten, n.Name)
		}
		if n.State.Has(slurm.PoweringDown) || n.State.Has(slurm.PoweredDown) && n.State.Base != slurm.Allocated && !w.forgotten[n.Name] {
			w.down[n.Name] = now
		}
	}
	before := map[uint32]bool{}
	for id, l := range w.lives {
		before[id] = l.queued
		l.queued = false
	}
	for _, j := range jobs {
		l := w.lives[j.ID]
		if l == nil {
			l = &life{}
			w.lives[j.ID] = l
		}
		if j.State != l.State {
			w.journal.note("job %d is %s (%s) on %s", j.ID, j.State, j.Reason, slurm.Fold(j.Nodes))
		}
		// One that was requeued and is held shows its last ones; one that moves may start
		// again between two looks.
		if len(l.Nodes) == 0 || !l.State.HoldsNodes() || l.Partition != j.Partition {
			l.given = now
		}
		l.Job, l.queued = j, true
		l.hopeless = l.hopeless || now.Before(w.desperate)
		l.stays = w.staying[j.ID] || w.staying[j.ArrayID] || w.staying[j.HetID]
		switch {
		case j.State != slurm.JobRunning:
			l.runs = time.Time{}
		case l.runs.IsZero():
			l.runs = now
			if !w.relimited[j.ArrayID] && !w.relimited[j.HetID] && !l.taken {
				started = append(started, *l)
			}
		}
	}
	for id, l := range w.lives {
		if before[id] && !l.queued {
			w.journal.note("job %d has left the queue: %s", id, w.slurm.JobState(id))
		}
	}
	return started
}

// note enters a job in excused, staying or relimited.
func (w *watch) note(which map[uint32]bool, id uint32) {
	defer locked(&w.mu)()
	which[id] = true
}

// forget notes that slurmctld has forgotten all jobs, and takes all nodes for
// powered down, for which nobody has asked.
func (w *watch) forget(nodes []string) {
	defer locked(&w.mu)()
	clear(w.lives)
	clear(w.excused)
	clear(w.staying)
	clear(w.relimited)
	clear(w.down)
	for _, name := range nodes {
		w.forgotten[name] = true
	}
}

// requeued notes that its owner requeues a job: it may have the same nodes again before
// the next look.
func (w *watch) requeued(id uint32) {
	defer locked(&w.mu)()
	if l := w.lives[id]; l != nil {
		for _, part := range w.parts(l) {
			part.given = time.Now()
		}
	}
}

// take notes that the world takes a node from the jobs that hold it.
func (w *watch) take(node string) {
	defer locked(&w.mu)()
	for _, l := range w.lives {
		if l.queued && slices.Contains(l.Nodes, node) {
			for _, part := range w.parts(l) {
				part.taken = true
			}
		}
	}
}

// parts are the components of the heterogeneous job that a life belongs to, or the
// life alone. The caller has the lock.
func (w *watch) parts(l *life) []*life {
	if l.HetID == 0 {
		return []*life{l}
	}
	var parts []*life
	for _, other := range w.lives {
		if other.HetID == l.HetID {
			parts = append(parts, other)
		}
	}
	return parts
}

// despair notes that something may fail with a code for a while. If only an
// admin can fix its cause, jobs that Slurm would not requeue may be given up,
// also by what is remembered of the failure later, or noticed when the daemon
// runs again.
func (w *watch) despair(code string, lasts time.Duration) {
	const remembered = 15 * time.Minute
	if !hopeless(code) {
		return
	}
	defer locked(&w.mu)()
	for _, l := range w.lives { // also while slurmctld does not answer
		l.hopeless = l.hopeless || l.queued
	}
	if until := time.Now().Add(lasts + remembered); until.After(w.desperate) {
		w.desperate = until
	}
}

// drop notes that we cancel a job.
func (w *watch) drop(id uint32) {
	defer locked(&w.mu)()
	if l := w.lives[id]; l != nil {
		for _, part := range w.parts(l) {
			part.dropped = true
		}
	}
}

// queued is a job of the queue of which that holds; nil if there is none.
func (w *watch) queued(is func(*life) bool) *life {
	defer locked(&w.mu)()
	for _, l := range w.lives {
		if l.queued && is(l) {
			one := *l
			return &one
		}
	}
	return nil
}

// runner is the job that has run on a node for a moment; nil if there is none.
// The moment is that of a race that nobody can avoid: Slurm may start a job
// between a pass's look and its command.
func (w *watch) runner(node string) *life {
	const moment = 5 * time.Second
	return w.queued(func(l *life) bool {
		return !l.runs.IsZero() && time.Since(l.runs) >= moment && slices.Contains(l.Nodes, node)
	})
}

// waiter is the job that waits for a node, with the longer of the limits that it had at
// the last look and has now; nil if there is none, or somebody has taken it back in the
// second since that look.
func (w *watch) waiter(node string) *life {
	l := w.queued(func(l *life) bool {
		return l.State == slurm.JobConfiguring && slices.Contains(l.Nodes, node) && w.slurm.JobState(l.ID).HoldsNodes()
	})
	if l != nil {
		if now := w.slurm.JobLimit(l.ID); now.Duration > l.Limit.Duration {
			l.Limit = now
		}
	}
	return l
}

// running is the job of that id if it runs; nil if it does not.
func (w *watch) running(id uint32) *life {
	return w.queued(func(l *life) bool { return l.ID == id && !l.runs.IsZero() })
}

// wanted reports whether a job holds the node.
func (w *watch) wanted(node string) bool {
	return w.queued(func(l *life) bool { return slices.Contains(l.Nodes, node) }) != nil
}

// asked reports whether Slurm has wanted the node's machine gone a while ago.
func (w *watch) asked(node string, while time.Duration) bool {
	defer locked(&w.mu)()
	at, ever := w.down[node]
	return ever && time.Since(at) <= while
}

// forNobody are the nodes that power up and that no job holds, sorted.
func (w *watch) forNobody() []string {
	defer locked(&w.mu)()
	held := map[string]bool{}
	for _, l := range w.lives {
		for _, name := range l.Nodes {
			held[name] = held[name] || l.queued
		}
	}
	var names []string
	for name, n := range w.nodes {
		if n.State.Base == slurm.Idle && n.State.Has(slurm.PoweringUp) && !held[name] {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// held are the jobs that wait for an admin to release them.
func (w *watch) held() []uint32 {
	defer locked(&w.mu)()
	var ids []uint32
	for id, l := range w.lives {
		if l.queued && l.State == slurm.JobPending && strings.Contains(strings.ToLower(l.Reason), "held") {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// all are the jobs that have been submitted: those still in the queue, and those
// that are over.
func (w *watch) all() (queue, over []life) {
	defer locked(&w.mu)()
	for _, l := range w.lives {
		if l.queued {
			queue = append(queue, *l)
		} else {
			over = append(over, *l)
		}
	}
	byID := func(a, b life) int { return int(int64(a.ID) - int64(b.ID)) }
	slices.SortFunc(queue, byID)
	slices.SortFunc(over, byID)
	return queue, over
}

// forgiven reports whether the script has ended the job itself.
func (w *watch) forgiven(l life) bool {
	defer locked(&w.mu)()
	return w.excused[l.ArrayID] || w.excused[l.ID] || w.excused[l.HetID]
}

// node is a node as it was last seen.
func (w *watch) node(name string) slurm.Node {
	defer locked(&w.mu)()
	return w.nodes[name]
}
