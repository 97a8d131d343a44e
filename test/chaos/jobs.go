package chaos

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"slurmflex/slurm"
	"slurmflex/test/fakeslurm"
)

// submit queues a job. The script numbers its jobs itself, so that the numbers do not change
// when other events are removed.
type submit struct {
	job       int
	partition string
	nodes     int
	tasks     int // array tasks; 0: none
	throttle  int // how many of them may run at once; 0: all
	limit     time.Duration
	run       time.Duration
	priority  uint64
	srun      bool // interactive
	noRequeue bool
	on        string // required node; empty: any
	features  string // --constraint
	oneSwitch bool   // --switches=1
	gres      string
	after     int // job whose end it awaits; 0: none
	begin     time.Duration
	comment   string   // AdminComment, set by an operator
	also      []string // partitions that it may fail over to
	with      string   // partition of a second component with one node; empty: none
}

func (e submit) String() string {
	text := fmt.Sprintf("submit job %d to %s: %d nodes, %v of %v", e.job, e.partition, e.nodes, e.run, e.limit)
	for _, part := range []struct {
		there bool
		text  string
	}{
		{e.tasks > 0, fmt.Sprintf("an array of %d", e.tasks)},
		{e.throttle > 0, fmt.Sprintf("%d at once", e.throttle)},
		{len(e.also) > 0, "or to " + strings.Join(e.also, ",")},
		{e.on != "", "on " + e.on},
		{e.features != "", "on " + e.features},
		{e.oneSwitch, "on one switch"},
		{e.gres != "", "with " + e.gres},
		{e.after > 0, fmt.Sprintf("after job %d", e.after)},
		{e.begin == never, "starting in 500,000 weeks"},
		{e.begin > 0 && e.begin != never, fmt.Sprintf("starting in %v", e.begin)},
		{e.priority > 0, fmt.Sprintf("priority %d", e.priority)},
		{e.srun, "by srun"},
		{e.noRequeue, "--no-requeue"},
		{e.with != "", "with a component in " + e.with},
		{e.comment != "", fmt.Sprintf("with the AdminComment %.120q", e.comment)},
	} {
		if part.there {
			text += ", " + part.text
		}
	}
	return text
}

func (e submit) strike(w *world, _ int) {
	spec := fakeslurm.JobSpec{
		Partition: e.partition, Nodes: e.nodes, Limit: e.limit, Run: e.run, Priority: e.priority, Tasks: e.tasks, Throttle: e.throttle,
		Interactive: e.srun, NoRequeue: e.noRequeue, User: "user", AdminComment: e.comment,
		Features: e.features, Gres: e.gres, OneSwitch: e.oneSwitch, After: w.jobs[e.after],
	}
	if len(e.also) > 0 {
		spec.Partition += "," + strings.Join(e.also, ",")
	}
	if e.on != "" {
		spec.NodeList = []string{e.on}
	}
	switch {
	case e.begin == never:
		spec.Begin = time.Now().AddDate(9609, 0, 0)
	case e.begin > 0:
		spec.Begin = time.Now().Add(e.begin)
	}
	id, err := uint32(0), error(nil)
	if e.with == "" {
		id, err = w.slurm.Submit(spec)
	} else {
		second := spec
		second.Partition, second.Nodes, second.NodeList = e.with, 1, nil
		id, err = w.slurm.SubmitHet(spec, second)
	}
	if err == nil {
		w.jobs[e.job] = id
	}
	if err == nil && (e.srun || e.noRequeue) {
		w.watch.note(w.watch.staying, id)
	}
	w.journal.note("submitted job %d as %d: %v", e.job, id, err)
}

// order runs a command on a job.
func order(job int, what verb) event {
	return happening{fmt.Sprintf("%s job %d", what, job), func(w *world, no int) {
		id, known := w.jobs[job]
		if !known {
			return
		}
		var err error
		switch what {
		case cancel:
			w.watch.note(w.watch.excused, id)
			err = w.slurm.Cancel(id)
		case requeue:
			w.watch.requeued(id)
			err = w.slurm.Requeue(id)
		case requeueHold:
			err = w.slurm.RequeueHold(id)
		case release:
			err = w.slurm.Release(id)
		case raise:
			w.watch.note(w.watch.relimited, id)
			err = w.slurm.SetLimit(id, w.dice.minutes(40, 90, "raise", no))
		case lower:
			err = w.slurm.SetLimit(id, w.dice.minutes(5, 15, "lower", no))
		case prefer:
			err = w.slurm.SetPriority(id, uint64(w.dice.number(1, 100, "prefer", no)))
		case shrink:
			err = w.slurm.Shrink(id, 1)
		case exclude, widen, move:
			w.watch.alter(id)
			err = w.slurm.Alter(id, func(spec *fakeslurm.JobSpec) {
				set := setOf(fmt.Sprintf("%s-%s-0", cluster, strings.Split(spec.Partition, ",")[0]))
				switch what {
				case exclude:
					spec.Exclude = []string{fmt.Sprintf("%s-%s-%d", cluster, set.name, w.dice.below(set.static+set.dynamic, "exclude", no))}
				case widen:
					spec.Nodes = w.dice.number(set.shortest, set.widest, "widen", no)
				case move:
					spec.Features = pick(w.dice, []string{"rack0", "rack1", ""}, "move", no)
				}
			})
		}
		w.journal.note("%s job %d: %v", what, id, err)
	}}
}

// holdTask makes an owner hold an array task.
func holdTask(job, task int) event {
	return happening{fmt.Sprintf("hold task %d of job %d", task, job), func(w *world, _ int) {
		if array, known := w.jobs[job]; known {
			id, err := w.slurm.HoldTask(array, task)
			w.journal.note("hold task %d_%d, job %d: %v", array, task, id, err)
		}
	}}
}

// verb is the command of an order.
type verb string

// The verbs of an order.
const (
	cancel      verb = "cancel"
	requeue     verb = "requeue"
	requeueHold verb = "requeuehold"
	release     verb = "release"
	raise       verb = "raise the limit of"
	lower       verb = "lower the limit of"
	prefer      verb = "prefer"
	shrink      verb = "shrink"
	exclude     verb = "change the excluded nodes of"
	widen       verb = "change the number of nodes of"
	move        verb = "change the features of"
)

// powerUp makes an admin power up a node by hand.
func powerUp(node string) event {
	text := "an admin powers " + node + " up"
	return happening{text, func(w *world, _ int) {
		w.byHand.Store(node, true)
		err := w.slurm.UpdateNodes(w.ctx, []string{node}, slurm.NodeChange{State: "power_up"})
		w.journal.note("%v: %v", text, err)
	}}
}

// randomJob returns a job of random shape.
func randomJob(d dice, job int) submit {
	set := pick(d, append(nodeSets(), setOf(cluster+"-spot-0")), "partition", job)
	e := submit{
		job: job, partition: set.name, nodes: d.number(set.shortest, set.widest, "nodes", job),
		limit: d.minutes(10, int(set.longest/time.Minute), "limit", job),
	}
	e.run = max(time.Minute, e.limit*time.Duration(d.number(10, 100, "run", job))/100)
	if d.oneIn(6, "array", job) {
		e.tasks, e.nodes = d.number(2, 5, "tasks", job), cmp.Or(set.shortest, 1)
		if d.oneIn(2, "throttle", job) {
			e.throttle = d.number(1, 2, "throttle", job, "tasks")
		}
	}
	if d.oneIn(4, "priority", job) {
		e.priority = uint64(d.number(1, 100, "how preferred", job))
	}
	if d.oneIn(10, "node list", job) {
		e.on = fmt.Sprintf("%s-%s-%d", cluster, set.name, d.below(set.static+set.dynamic, "node", job))
	}
	if d.oneIn(4, "features", job) {
		e.features, e.nodes = pick(d, []string{"rack0", "rack1", "rack0|rack1"}, "features", job, "which"), set.shortest
	}
	if d.oneIn(4, "gres", job) {
		e.gres = pick(d, []string{"gpu:h100:8", "gpu:l4:2"}, "gres", job, "which")
	}
	if half := (set.static + set.dynamic) / 2; half > 1 && e.nodes > 1 && e.on == "" && d.oneIn(4, "switches", job) {
		e.oneSwitch, e.nodes = true, min(e.nodes, half)
	}
	if d.oneIn(12, "after", job) {
		e.after = d.number(1, job, "after", job, "which") - 1
	}
	if d.oneIn(12, "begin", job) {
		e.begin = d.minutes(2, 30, "begin", job, "when")
	}
	e.srun = e.tasks == 0 && d.oneIn(8, "srun", job)
	e.noRequeue = d.oneIn(8, "no requeue", job)
	e.comment = d.comment(job)
	// Slurm requeues a heterogeneous job if its first component has static nodes a minute
	// before the others have theirs.
	if other := pick(d, nodeSets(), "component", job); e.tasks == 0 && set.static == 0 && other.name != set.name && d.oneIn(6, "heterogeneous", job) {
		e.with, e.limit = other.name, min(e.limit, other.longest)
		e.run = min(e.run, e.limit)
	}
	if set.exclusive && e.on == "" && e.with == "" && e.comment == "" && d.oneIn(2, "may move", job) {
		others := slices.DeleteFunc(nodeSets(), func(s nodeSet) bool { return !s.exclusive || s.name == set.name })
		for i := range d.number(1, 3, "how many partitions more", job) {
			at := d.below(len(others), "another partition", job, i)
			other := others[at]
			others = slices.Delete(others, at, at+1)
			e.also, e.nodes, e.limit = append(e.also, other.name), min(max(e.nodes, other.shortest), set.widest, other.widest), min(e.limit, other.longest)
		}
		e.run = min(e.run, e.limit)
	}
	return e
}

// never stands for sbatch --begin=now+500000weeks.
const never = math.MaxInt64

// waitsForEver returns a job that its owner never lets start.
func waitsForEver(d dice, i int) submit {
	set := pick(d, nodeSets(), "partition of ever", i)
	return submit{job: firstEver + i, partition: set.name, nodes: 1, limit: time.Hour, run: time.Hour, begin: never}
}

// firstEver is the script's number of the first job that waits forever.
const firstEver = 1000

// comment returns the AdminComment set by an operator at submission. Some comments imitate
// texts of Slurm or slurmflex.
func (d dice) comment(job int) string {
	if !d.oneIn(3, "comment", job) {
		return ""
	}
	return pick(d, []string{
		"flex-start: told 2000-01-01T00:00:00Z: it will be lost",
		"flex-start: told 2999-01-01T00:00:00Z: it will be lost",
		"flex-start: attempt 99 failed (capacity): no",
		"flex-start: [partitions gang,bulk,close,base]",
		"x\n1|1|N/A|1:00|RUNNING|alpha-gang-[0-5]|Unknown|1|gang|root|None\n1||N/A|PENDING|0|0|",
		"slurmflex: x [root@2000-01-01T00:00:00] Comment=x\r\x1b[31m\xff",
		strings.Repeat("AdminComment= ", 5000),
	}, "comment", job, "which")
}
