package plan

import (
	"fmt"
	"slices"

	"slurmflex/slurm"
)

// reasonPrefix marks the node reasons that are ours.
const reasonPrefix = "slurmflex: "

// powerDownOrphans hands back the nodes that are powering up for nobody: their
// job was cancelled or requeued, and Slurm itself would leave them so, or place
// another job on them without a call. Drained and downed nodes are the admin's.
func (w *world) powerDownOrphans() {
	var orphans []string
	for _, m := range w.sorted() {
		if m.power != rising || m.cohort != nil || len(m.jobs) > 0 || w.unseen(m.set.Region) {
			continue
		}
		switch {
		case held(m.State):
			w.expect("node " + m.Name + " to lose or show its job")
		case m.State.Base == slurm.Idle && !m.State.Has(slurm.Drain) && !m.State.Has(slurm.Fail):
			orphans = append(orphans, m.Name)
		}
	}
	w.setNodes(orphans, "power_down_force", reasonPrefix+"no job waits for this node any more",
		"no job waits for them any more")
}

// powerDownOnIdle marks the nodes of exclusive jobs, so that they are powered
// down as soon as their job ends. Where the partition has PowerDownOnIdle,
// Slurm has set the mark already; Slurm 22.05 knows no such setting.
func (w *world) powerDownOnIdle() {
	var names []string
	for _, m := range w.sorted() {
		job := m.owner()
		if job == nil || m.set.IsStatic(m.index) || !w.exclusive(job) || m.State.Has(slurm.PowerDown) {
			continue
		}
		if m.power == up || m.power == rising && m.State.Has(slurm.PoweringUp) {
			names = append(names, m.Name)
		}
	}
	w.setNodes(names, "power_down", "", "their partition gives a job the whole node: it goes when the job ends")
}

// exclusive reports whether the job runs in a partition that gives it its
// nodes for itself.
func (w *world) exclusive(job *slurm.Job) bool {
	return w.cfg.Exclusive(job.Partition)
}

// setNodes plans one power state for nodes that this plan does not set yet.
func (w *world) setNodes(names []string, state, reason string, why Why) {
	names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return w.set[name] })
	if len(names) > 0 {
		for _, name := range names {
			w.set[name] = true
		}
		w.add(SetNodes{Nodes: names, State: state, Reason: reason, Why: why})
		w.expect(fmt.Sprintf("%s to show %s", slurm.Fold(names), state))
	}
}
