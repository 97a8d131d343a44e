package plan

import (
	"fmt"
	"slices"

	"slurmflex/slurm"
)

// ReasonPrefix marks the node reasons and comments that are ours.
const ReasonPrefix = "slurmflex: "

// powerDownOrphans hands back the nodes that are powering up for nobody: their
// job was cancelled or requeued, and Slurm itself would leave them so, or place
// another job on them without a call. Drained and downed nodes are the admin's.
func (w *world) powerDownOrphans() {
	var orphans []string
	for _, m := range w.members {
		if m.power != rising || m.cohort != nil || len(m.jobs) > 0 || w.isUnread(m) {
			continue
		}
		switch {
		case m.State.Held():
			w.expect("node " + m.Name + " to lose or show its job")
		case m.State.IsIdle() && !m.State.Has(slurm.Drain) && !m.State.Has(slurm.Fail):
			orphans = append(orphans, m.Name)
		}
	}
	w.setNodes(SetNodes{
		Nodes: orphans, State: "power_down_force", Reason: ReasonPrefix + "no job waits for this node any more",
		Why: "no job waits for them any more",
	})
}

// powerDownOnIdle marks the nodes of exclusive jobs, so that they are powered
// down as soon as their job ends. Where the partition has PowerDownOnIdle,
// Slurm has set the mark already; Slurm 22.05 knows no such setting.
func (w *world) powerDownOnIdle() {
	var names []string
	for _, m := range w.members {
		job := m.owner()
		if job == nil || m.set.IsStatic(m.index) || !w.exclusive(job) || m.State.Has(slurm.PowerDown) {
			continue
		}
		if m.power == up || m.power == rising && m.State.Has(slurm.PoweringUp) {
			names = append(names, m.Name)
		}
	}
	w.setNodes(SetNodes{
		Nodes: names, State: "power_down",
		Why: "their partition gives a job the whole node: it goes when the job ends",
	})
}

// exclusive reports whether the job runs in a partition that gives it its
// nodes for itself.
func (w *world) exclusive(job *slurm.Job) bool {
	return w.cfg.Exclusive(job.Partition)
}

// textless reports whether the change leaves the nodes' texts as they are.
func (a SetNodes) textless() bool { return a.Comment == nil && a.Extra == nil }

// setNodes plans a change for the nodes that this plan does not change yet.
// Nodes that are changed alike are changed in one go.
func (w *world) setNodes(change SetNodes) {
	change.Nodes = slices.DeleteFunc(slices.Clone(change.Nodes), func(name string) bool { return w.changed[name] })
	change.Nodes = w.undoubted(change.Nodes, change.State)
	if len(change.Nodes) == 0 {
		return
	}
	for _, name := range change.Nodes {
		w.changed[name] = true
	}
	if change.State != "" {
		w.expect(fmt.Sprintf("%s to show %s", slurm.Fold(change.Nodes), change.State))
	}
	for i, a := range w.plan.Actions {
		known, ok := a.(SetNodes)
		if ok && known.State == change.State && known.Reason == change.Reason && known.textless() && change.textless() {
			known.Nodes = append(known.Nodes, change.Nodes...)
			w.plan.Actions[i] = known
			return
		}
	}
	w.add(change)
}
