package demand

import (
	"fmt"
	"slices"
	"time"

	"slurmflex/config"
	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
)

// planSoon is how long a job with enough free nodes may wait for backfill to plan it, while less
// important jobs wait for it: several cycles of backfill.
const planSoon = 2 * time.Minute

// isOverdue reports whether the job lacks only nodes, and backfill had time to plan it since enough are
// free.
func (h *handout) isOverdue(j *slurm.Job) bool {
	since := h.Seen.Unasked[j.ID]
	return j.LacksNodes() && !since.IsZero() && h.IsOld(since, planSoon)
}

// keepFor keeps the free nodes of a nodeset for a job that is certain to fit there, and that Slurm
// cannot plan because too few are free, or were in its last cycle; and the nodes that a job names, once all are
// free. Less important jobs would otherwise take each node that becomes free.
func (h *handout) keepFor(j *slurm.Job) {
	if !j.LacksNodes() || j.IsTasks() {
		return
	}
	if !h.isOverdue(j) && h.needsTaken(j) == "" {
		h.named = append(h.named, j.Needs...)
	}
	for _, set := range h.places(j) {
		fit, all, coming := 0, 0, 0
		var idle []*scene.Node
		for _, m := range h.Nodes {
			if m.Set != set || m.Static || !j.SurelyFits(*m.Node) || IsForOthers(h.Scene, m, j) || m.IsWithdrawn() {
				continue
			}
			all++
			switch {
			case h.isOpen(m):
				fit++
			case len(m.Holders) > 0 || m.Door != nil || h.isWanted(m.Name):
			case m.Power == scene.On && m.Idle() && !m.State.Has(slurm.PowerDown) && !h.kept[m]:
				idle = append(idle, m)
			default:
				coming++
			}
		}
		if h.short[set] != nil || fit == 0 || all < j.NodeCount || !h.surelyTakes(j, set) || h.limits.obstacle(j, set) != "" {
			continue
		}
		switch spare := h.fitting(set, j, nil); {
		case fit < j.NodeCount, !h.isOverdue(j) && len(spare) < j.NodeCount:
			h.short[set] = j
			h.yield(j, idle, j.NodeCount-fit-coming)
			return
		case !h.isOverdue(j):
			h.named = append(h.named, spare[:j.NodeCount]...)
			return
		}
	}
}

// yield selects as many idle machines as the job lacks nodes, if that is enough and Slurm does not start the
// job on them alone: Slurm plans no job on idle machines and cold nodes together.
func (h *handout) yield(j *slurm.Job, idle []*scene.Node, lack int) {
	starts := len(usable(h.Scene, idle, j)) >= j.NodeCount && !h.Seen.Now.Add(runsFor(j)).After(h.Horizon)
	if starts || lack > len(idle) {
		return
	}
	for _, m := range idle[:max(lack, 0)] {
		h.Yields[m] = j
	}
}

// isOpen reports whether Slurm may plan jobs on the node, and no job gets it in this pass.
func (h *handout) isOpen(m *scene.Node) bool {
	return m.IsOpenToPlans() && !h.isWanted(m.Name)
}

// keptFrom names the more important job that one of the plan's nodes is kept for; empty without such a job.
func (h *handout) keptFrom(j *slurm.Job, p plan) string {
	by := h.short[p.set]
	if by == nil || scene.ByImportance(by, j) >= 0 || len(p.names) > 0 && len(h.unkept(j, p.set, p.names)) == len(p.names) {
		return ""
	}
	return fmt.Sprintf("free nodes of nodeset %s are kept for job %s, which is more important and needs %d", p.set.Name, by.Name(), by.NodeCount)
}

// unkept returns those names of the nodeset's nodes that are kept for no more important job. Others may
// have reserved nodes before that job would end.
func (h *handout) unkept(j *slurm.Job, set *config.NodeSet, names []string) []string {
	by := h.short[set]
	if by == nil || scene.ByImportance(by, j) >= 0 {
		return names
	}
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !IsForOthers(h.Scene, h.Node(name), by) })
}

// isTaken reports whether one of the nodes is behind another door, or kept for another job that was
// changed or names it.
func (h *handout) isTaken(names []string, address string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		d := h.Node(name).Changed
		return h.isWanted(name) || slices.Contains(h.named, name) || d != nil && d.Address != address
	})
}
