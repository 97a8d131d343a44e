package history

import (
	"fmt"
	"slices"
	"time"

	"slurmflex/flex/plan"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// look is the observation of one pass, in the form that the history needs.
type look struct {
	scene  *scene.Scene
	plan   plan.Plan
	now    Time
	looked map[string]Time // by region: the last look
	// Jobs that run, or are about to: all their nodes are up. A job that waits at several doors counts only
	// as the taker of the one that has opened.
	runs map[*slurm.Job]bool
	news []News
}

// findRuns finds the jobs that run, or are about to.
func (l *look) findRuns() {
	l.runs = map[*slurm.Job]bool{}
	isComing := func(node string) bool { return !l.isRegistered(node) }
	for i := range l.scene.Seen.Jobs {
		if j := &l.scene.Seen.Jobs[i]; j.State.HoldsNodes() && (j.State.AtWork() || !slices.ContainsFunc(j.Nodes, isComing)) {
			l.runs[j] = true
		}
	}
	for _, d := range l.scene.Doors {
		if d.Taker != nil && d.Named && d.Opened && !slices.ContainsFunc(d.Nodes, isComing) {
			l.runs[d.Taker] = true
		}
	}
}

// machine is the cluster's machine of that name, the newest of several; without an instance if there
// is none.
func (l *look) machine(name string) (last scene.Machine) {
	for _, in := range l.scene.Named(name).Machines {
		if in.Belongs && (last.Instance == nil || last.Created.Before(in.Created)) {
			last = in
		}
	}
	return last
}

// isRegistered reports whether Slurm shows the node as registered.
func (l *look) isRegistered(node string) bool {
	n := l.scene.Named(node).Node
	return n != nil && n.State.Registered()
}

// atWork returns the jobs on a node that run or are about to. coming reports whether a job on the
// node still waits for other nodes.
func (l *look) atWork(node string) (jobs []*slurm.Job, coming bool) {
	for _, j := range l.scene.Named(node).Holders {
		if l.runs[j] {
			jobs = append(jobs, j)
		} else {
			coming = true
		}
	}
	return jobs, coming
}

// waits reports whether the job waits in the queue, before its first start or after a requeue.
func (l *look) waits(id uint32) bool {
	j := l.scene.Jobs[id]
	return j != nil && j.State.Waits()
}

// who returns the job of that raw id and its owner, as far as they are still known. For a job that
// waits in several partitions, it names the partition of the nodes.
func (l *look) who(id uint32, nodes ...string) Who {
	j := l.scene.Jobs[id]
	if j == nil {
		return Who{Job: id}
	}
	w := Who{Job: id, User: j.User, Account: j.Account, Partition: j.Partition}
	for _, node := range nodes {
		for _, holder := range l.scene.Named(node).Holders {
			if holder.ID == id {
				w.Partition = holder.Partition
			}
		}
	}
	if name := j.Name(); name != fmt.Sprint(id) {
		w.Name = name
	}
	return w
}

// madeFor returns the job that the stamped object was created for. For a group that jobs
// share, it returns a job that has one of the nodes. It returns 0 if no such job exists.
func (l *look) madeFor(stamp mig.Stamp, nodes ...string) (job uint32) {
	if !stamp.Shared() {
		return stamp.Job
	}
	for i := range l.scene.Seen.Jobs {
		j := &l.scene.Seen.Jobs[i]
		if (job == 0 || j.ID < job) && slices.ContainsFunc(nodes, func(n string) bool { return slices.Contains(j.Nodes, n) }) && scene.IsFor(stamp, j) {
			job = j.ID
		}
	}
	return job
}

// place fills in the properties of a nodeset's machines.
func (l *look) place(e *Entry, nodeset, region string, count int) {
	e.Version, e.NodeSet, e.Region, e.Count = Version, nodeset, region, count
	if set := l.scene.Config.FlexSet(nodeset); set != nil {
		e.Machine = l.scene.Seen.Templates[set.Template].MachineType
	}
	machine, _ := mig.KnownMachine(e.Machine)
	e.GPUs = count * machine.GPUs
}

// goneAfter is how long lists must lack an object before it counts as gone, because lists lag and
// may be wrong once.
const goneAfter = Time(time.Minute / time.Second)
