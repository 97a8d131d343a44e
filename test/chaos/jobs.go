package chaos

import (
	"cmp"
	"fmt"
	"time"

	"slurmflex/slurm"
	"slurmflex/test/fakeslurm"
)

// submit queues a job. The script calls jobs by numbers of its own, so that it
// reads the same when others are taken out.
type submit struct {
	job       int
	partition string
	nodes     int
	tasks     int // of an array; 0: none
	limit     time.Duration
	run       time.Duration
	priority  uint64
	srun      bool // somebody waits for it
	noRequeue bool
	on        string // a node that it insists on; empty: any
	begin     time.Duration
}

func (e submit) String() string {
	text := fmt.Sprintf("submit job %d to %s: %d nodes, %v of %v", e.job, e.partition, e.nodes, e.run, e.limit)
	if e.tasks > 0 {
		text += fmt.Sprintf(", an array of %d", e.tasks)
	}
	if e.on != "" {
		text += ", on " + e.on
	}
	if e.begin > 0 {
		text += fmt.Sprintf(", to begin in %v", e.begin)
	}
	if e.priority > 0 {
		text += fmt.Sprintf(", priority %d", e.priority)
	}
	if e.srun {
		text += ", by srun"
	}
	if e.noRequeue {
		text += ", --no-requeue"
	}
	return text
}

func (e submit) strike(w *world, _ int) {
	spec := fakeslurm.JobSpec{
		Partition: e.partition, Nodes: e.nodes, Limit: e.limit, Run: e.run, Priority: e.priority, Tasks: e.tasks,
		Interactive: e.srun, NoRequeue: e.noRequeue, User: "user",
	}
	if e.on != "" {
		spec.NodeList = []string{e.on}
	}
	if e.begin > 0 {
		spec.Begin = time.Now().Add(e.begin)
	}
	id, err := w.slurm.Submit(spec)
	if err == nil {
		w.jobs[e.job] = id
	}
	w.journal.note("submitted job %d as %d: %v", e.job, id, err)
}

// order is a command about a job.
type order struct {
	job  int
	verb verb
}

// verb is what an order says.
type verb string

// The orders.
const (
	cancel      verb = "cancel"
	requeue     verb = "requeue"
	requeueHold verb = "requeuehold"
	release     verb = "release"
	raise       verb = "raise the limit of"
	lower       verb = "lower the limit of"
	prefer      verb = "prefer"
	shrink      verb = "shrink"
)

func (e order) String() string { return fmt.Sprintf("%s job %d", e.verb, e.job) }

func (e order) strike(w *world, no int) {
	id, known := w.jobs[e.job]
	if !known {
		return
	}
	var err error
	switch e.verb {
	case cancel:
		w.watch.excuse(id)
		err = w.slurm.Cancel(id)
	case requeue:
		err = w.slurm.Requeue(id)
	case requeueHold:
		err = w.slurm.RequeueHold(id)
	case release:
		err = w.slurm.Release(id)
	case raise:
		w.watch.relimit(id)
		err = w.slurm.SetLimit(id, w.dice.minutes(40, 90, "raise", no))
	case lower:
		err = w.slurm.SetLimit(id, w.dice.minutes(5, 15, "lower", no))
	case prefer:
		err = w.slurm.SetPriority(id, uint64(w.dice.number(1, 100, "prefer", no)))
	case shrink:
		err = w.slurm.Shrink(id, 1)
	}
	w.journal.note("%s job %d: %v", e.verb, id, err)
}

// powerUp is an admin who powers a node up by hand.
type powerUp struct{ node string }

func (e powerUp) String() string { return "an admin powers " + e.node + " up" }

func (e powerUp) strike(w *world, _ int) {
	w.setByHand(e.node)
	err := w.slurm.UpdateNodes(w.ctx, []string{e.node}, slurm.NodeChange{State: "power_up"})
	w.journal.note("%v: %v", e, err)
}

// randomJob is a job of any shape.
func randomJob(d dice, job int) submit {
	set := pick(d, nodeSets(), "partition", job)
	e := submit{
		job: job, partition: set.name, nodes: d.number(set.shortest, set.widest, "nodes", job),
		limit: d.minutes(10, int(set.longest/time.Minute), "limit", job),
	}
	e.run = max(time.Minute, e.limit*time.Duration(d.number(10, 100, "run", job))/100)
	if d.oneIn(6, "array", job) {
		e.tasks, e.nodes = d.number(2, 5, "tasks", job), cmp.Or(set.shortest, 1)
	}
	if d.oneIn(4, "priority", job) {
		e.priority = uint64(d.number(1, 100, "how preferred", job))
	}
	if d.oneIn(10, "node list", job) {
		e.on = fmt.Sprintf("%s-%s-%d", cluster, set.name, d.below(set.static+set.dynamic, "node", job))
	}
	if d.oneIn(12, "begin", job) {
		e.begin = d.minutes(2, 30, "begin", job, "when")
	}
	e.srun = e.tasks == 0 && d.oneIn(8, "srun", job)
	e.noRequeue = d.oneIn(8, "no requeue", job)
	return e
}
