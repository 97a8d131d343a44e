package chaos

import (
	"slices"
	"sync"
	"time"

	"slurmflex/flex/plan/demand"
	"slurmflex/slurm"
	"slurmflex/test/fakeslurm"
)

// watch tracks the true state of jobs and nodes, whatever the lists say to the product.
type watch struct {
	slurm   *fakeslurm.Cluster
	journal *journal

	mu        sync.Mutex
	nodes     map[string]slurm.Node
	lives     map[uint32]*life
	excused   map[uint32]bool      // by array ID: jobs ended by the script
	staying   map[uint32]bool      // by array ID: jobs that Slurm does not requeue
	relimited map[uint32]bool      // by array ID: jobs with a time limit changed by the script
	altered   map[uint32]time.Time // by array ID: when the script last changed the job's other options
	down      map[string]time.Time // when nodes were last seen powered down or powering down
	forgotten map[string]bool      // nodes considered powered down since slurmctld lost its state
	desperate time.Time            // end of the period in which a permanent error may occur
}

// life is the history of a job or an array task.
type life struct {
	slurm.Job
	given    time.Time // when it got its nodes
	runs     time.Time // start of its run; zero: not running
	queued   bool      // it is still in the queue
	taken    bool      // the world has removed one of its nodes
	hopeless bool      // a permanent error occurred during its time
	stays    bool      // Slurm does not requeue it
	late     int       // how often slurmctld has missed its script, if it is the first component of a heterogeneous job
	dropped  bool      // slurmflex has cancelled it, as on_provision_timeout demands
}

func newWatch(c *fakeslurm.Cluster, j *journal) *watch {
	return &watch{
		slurm: c, journal: j, nodes: map[string]slurm.Node{}, lives: map[uint32]*life{},
		excused: map[uint32]bool{}, staying: map[uint32]bool{}, relimited: map[uint32]bool{}, altered: map[uint32]time.Time{}, down: map[string]time.Time{}, forgotten: map[string]bool{},
	}
}

// look records the present state and returns the jobs that have started to run, with their
// submitted time limits and all their allocated nodes. While slurmctld does not answer, the
// state does not change.
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
		// A requeued and held job still shows its last nodes. A job that fails over may start
		// again between two looks.
		if len(l.Nodes) == 0 || !l.State.HoldsNodes() || l.Partition != j.Partition {
			l.given = now
		}
		if j.HetID == j.ID && l.State == slurm.JobRunning && j.State == slurm.JobPending && j.Reason == "BeginTime" {
			l.late++
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

// note adds a job to excused, staying or relimited.
func (w *watch) note(which map[uint32]bool, id uint32) {
	defer locked(&w.mu)()
	which[id] = true
}

// forget records that slurmctld has forgotten all jobs and considers all nodes powered down
// and not requested.
func (w *watch) forget(nodes []string) {
	defer locked(&w.mu)()
	clear(w.lives)
	clear(w.excused)
	clear(w.staying)
	clear(w.relimited)
	clear(w.altered)
	clear(w.down)
	for _, name := range nodes {
		w.forgotten[name] = true
	}
}

// requeued records that a job's owner requeues it: the job may get the same nodes again before
// the next look.
func (w *watch) requeued(id uint32) {
	defer locked(&w.mu)()
	if l := w.lives[id]; l != nil {
		for _, part := range w.parts(l) {
			part.given = time.Now()
		}
	}
}

// take records that the world removes a node from the jobs that hold it.
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

// parts returns the components of a life's heterogeneous job, or just the life. The caller
// holds the lock.
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

// despair records that a code may occur for a while. If only an admin can fix its cause,
// slurmflex may give up jobs that Slurm does not requeue. That may also happen later:
// slurmflex remembers failures, and notices some only when the daemon runs again.
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

// drop records that slurmflex cancels a job.
func (w *watch) drop(id uint32) {
	defer locked(&w.mu)()
	if l := w.lives[id]; l != nil {
		for _, part := range w.parts(l) {
			part.dropped = true
		}
	}
}

// queued returns a queued job that matches is, or nil.
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

// runner returns the job that has run on a node for a moment, or nil. The moment excuses an
// unavoidable race: Slurm may start a job between a pass's observation and its command. It also returns
// nil for a job that has lost its nodes within the second since the last look.
func (w *watch) runner(node string) *life {
	const moment = 5 * time.Second
	return w.queued(func(l *life) bool {
		return !l.runs.IsZero() && time.Since(l.runs) >= moment && slices.Contains(l.Nodes, node) && w.slurm.JobState(l.ID).HoldsNodes()
	})
}

// waiter returns the job that waits for a node, or nil. It also returns nil for a job requeued
// within the second since the last look. The job's limit is the longer of its limits then and
// now.
func (w *watch) waiter(node string) *life {
	l := w.queued(func(l *life) bool {
		return l.State == slurm.JobConfiguring && slices.Contains(l.Nodes, node) && w.slurm.JobState(l.ID).HoldsNodes()
	})
	if l != nil {
		if now := w.slurm.Truth(l.ID).Limit; now.Duration > l.Limit.Duration {
			l.Limit = now
		}
	}
	return l
}

// running returns the running job with this ID, or nil.
func (w *watch) running(id uint32) *life {
	return w.queued(func(l *life) bool { return l.ID == id && !l.runs.IsZero() })
}

// wanted reports whether a job holds the node.
func (w *watch) wanted(node string) bool {
	return w.queued(func(l *life) bool { return slices.Contains(l.Nodes, node) }) != nil
}

// asked reports whether Slurm has since then released the node's machine.
func (w *watch) asked(node string, since time.Time) bool {
	defer locked(&w.mu)()
	at, ever := w.down[node]
	return ever && !at.Before(since)
}

// forNobody returns the nodes that are powering up without a job, sorted.
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

// all returns all submitted jobs: those in the queue, and those that are over.
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

// alter notes that the script changes the options of a job.
func (w *watch) alter(id uint32) {
	defer locked(&w.mu)()
	w.altered[id] = time.Now()
}

// isAltered reports whether the script has changed the job's options so recently that its request may
// be kept until Slurm has planned it again.
func (w *watch) isAltered(l life) bool {
	defer locked(&w.mu)()
	at := later(w.altered[l.ArrayID], w.altered[l.ID])
	return !at.IsZero() && time.Since(at) < demand.KeptFor+longest
}

// forgiven reports whether the script ended the job.
func (w *watch) forgiven(l life) bool {
	defer locked(&w.mu)()
	return w.excused[l.ArrayID] || w.excused[l.ID] || w.excused[l.HetID]
}

// node returns a node as last seen.
func (w *watch) node(name string) slurm.Node {
	defer locked(&w.mu)()
	return w.nodes[name]
}
