package demand

import (
	"fmt"
	"slices"

	"slurmflex/config"
	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
)

// keepSurvivors assigns each requeued job the machines that it still has, with names for the machines
// that it has lost. As long as names are lacking, the machines are kept. It returns the machines that
// no job has, without those.
func (h *handout) keepSurvivors() (left []*scene.Node) {
	left = h.leftMachines()
	for _, j := range h.jobs {
		if !h.mayHaveDoor(j, beginAhead) || j.NodeCount < 2 || j.HetID != 0 || j.IsTasks() || j.Limit.Kind != slurm.LimitSet || len(h.DoorsOf(j.ID)) > 0 {
			continue
		}
		for _, set := range h.places(j) {
			if !set.Flex.Salvage || isClosed(h.Scene, j, set) || h.hasWant(j) {
				continue
			}
			own := slices.DeleteFunc(usable(h.Scene, membersOf(left, set), j), func(m *scene.Node) bool {
				return m.Power != scene.On || m.Machines[0].Origin.Job != j.ID || h.IsOld(m.LastBusyTime, set.Flex.SalvageTimeout/2)
			})
			if len(own) == 0 {
				continue
			}
			for _, m := range own {
				h.kept[m] = true
			}
			left = slices.DeleteFunc(left, func(m *scene.Node) bool { return h.kept[m] })
			names := append(namesOf(own), h.replacements(set, j)...)
			if len(names) < j.NodeCount || misfit(j, names[:j.NodeCount]) != "" {
				continue
			}
			names = slices.Sorted(slices.Values(names[:j.NodeCount]))
			open := !h.StartsLater(j, 0) && len(own) >= j.NodeCount
			h.give(want{Job: j, Address: j.Address(), Set: set, Nodes: names, Inherit: true, Open: open})
		}
	}
	return left
}

// replacements returns the free names of the nodeset that are certain to fit the job beside the nodes
// that it keeps. Slurm alone knows which of them belong to one switch.
func (h *handout) replacements(set *config.NodeSet, j *slurm.Job) []string {
	if h.chargeOf(j).ByPosition {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(h.free[set]), func(name string) bool { return slices.Contains(j.Excludes, name) || !j.FitsAlike(*h.Node(name).Node) })
}

// IsKept reports whether the node's machine, which no job has now, is kept for a waiting job or for
// a job that has lost other machines. An unread machine that the cover closes may be such a machine.
func (w *Wanted) IsKept(m *scene.Node) bool {
	if w.Handed.kept[m] {
		return true
	}
	if job := m.Owner; job != nil && w.survivors[job.ID] != nil {
		return slices.Contains(w.survivors[job.ID], m)
	}
	switch {
	case !m.Set.Flex.Salvage || !m.Cover:
		return false
	case m.IsUnread:
		return m.Owner == nil
	case len(m.Machines) != 1:
		return false
	}
	job := w.Jobs[m.Machines[0].Origin.Job]
	return job != nil && job.State == slurm.JobCompleting
}

// keptTooLong returns why the machines that a job keeps behind its door stop waiting for the
// replacement; empty if they continue to wait.
func keptTooLong(s *scene.Scene, d *scene.Door) string {
	survivors := s.NodesNamed(s.Survivors(d))
	if len(survivors) == 0 {
		return ""
	}
	switch limit := survivors[0].Set.Flex.SalvageTimeout; {
	case s.IsOld(d.At, limit):
		return fmt.Sprintf("no machine in place of those that were lost within salvage_timeout %s", slurm.Clock(limit))
	case len(usable(s, survivors, d.Job)) < len(survivors):
		return "the leases of the machines that its job keeps are too short now"
	}
	return ""
}
