package rules

import (
	"slices"

	"slurmflex/flex/plan/demand"
	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
)

// nodesetBlocked: too many consecutive instances of the nodeset did not boot, or an admin has blocked
// it.
func nodesetBlocked(w *demand.Wanted, c *demand.Claim) Ruling {
	switch b := w.Sets[c.Set].Block; {
	case b == nil:
		return Ruling{}
	case b.Failed > 0:
		return Ruling{Do: Waits, Why: b.Text(c.Set.Name) + "; ask an admin"}
	default:
		return Ruling{Do: Waits, Why: b.Text(c.Set.Name)}
	}
}

// withdrawBlocked cancels the requests of nodesets that an admin has blocked with --cancel, except
// for requests that create machines, or whose nodes a job runs on.
func withdrawBlocked(w *demand.Wanted) {
	for _, r := range w.Settled {
		set := w.Config.FlexSet(r.Group.Stamp.NodeSet)
		if set == nil || r.Misfit != "" || !w.OnlyWaits(&r.Live) {
			continue
		}
		isUsed := w.AnyNode(r.Request.Instances, func(m *scene.Node) bool {
			return slices.ContainsFunc(m.Holders, func(j *slurm.Job) bool { return j.State.AtWork() })
		})
		if b := w.Sets[set].Block; b != nil && b.Cancels && !isUsed {
			w.Withdraw(r.Request, b.Text(set.Name))
		}
	}
}
