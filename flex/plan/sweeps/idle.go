package sweeps

import (
	"fmt"
	"slices"
	"time"

	"slurmflex/config"
	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
)

// powerDownKept powers down the idle nodes that keep_idle has kept for long enough or that a job needs
// beside cold ones, and those that were not marked during their job only because of salvage. Slurm's
// SuspendTime does the same, but does not take leases or nodesets into account. If a job takes such a
// node first, the mark takes effect at the job's end.
func powerDownKept(s *Step) {
	sets := s.Covered()
	for _, m := range s.Nodes {
		if m.Power != scene.On || !m.Idle() || len(m.Holders) > 0 || m.Static || m.State.Has(slurm.PowerDown) || m.IsUnread || isOpen(m, sets) || s.IsKept(m) {
			continue
		}
		if m.Set.Flex.KeepIdle == 0 {
			if isLeft(m) || sets[m.Set] && m.Cover && wasForAJob(m) {
				s.do(powerDown("power_down", "its job has left it", m.Name))
			}
			continue
		}
		if j := s.Handed.Yields[m]; j != nil {
			s.do(powerDown("power_down", "job "+j.Name()+" needs this node beside nodes without machines", m.Name))
			continue
		}
		end, ends := endingOf(m)
		until := m.KeptUntil(end)
		if until.IsZero() || !s.IsOld(until, 0) {
			continue
		}
		why := fmt.Sprintf("idle for keep_idle %s", slurm.Clock(m.Set.Flex.KeepIdle))
		if until.Before(m.LastBusyTime.Add(m.Set.Flex.KeepIdle)) {
			why = fmt.Sprintf("idle, and %s at %s, too soon for another job", ends, end.UTC().Format(time.RFC3339))
		}
		s.do(powerDown("power_down", why, m.Name))
	}
}

// wasForAJob reports whether the node's machine was created for a job, not for an admin who powered
// up the node.
func wasForAJob(m *scene.Node) bool {
	return slices.ContainsFunc(m.Machines, func(in scene.Machine) bool { return in.Origin.ForJobs() })
}

// isOpen reports whether Slurm would allocate the node to a waiting job as soon as it is powered
// down, because the cover, which keeps jobs from its nodeset, does not include the node yet.
func isOpen(m *scene.Node, sets map[*config.NodeSet]bool) bool {
	return sets[m.Set] && !m.Cover && !m.Foreign
}

// endingOf returns when the node's machine ends, and the reason; zero if it never ends.
func endingOf(m *scene.Node) (end time.Time, ends string) {
	for _, in := range m.Machines {
		if in.Ours && !in.Until().IsZero() {
			end, ends = in.Until(), in.Ending()
		}
	}
	return end, ends
}

// isLeft reports whether the machine of an idle node in a nodeset with salvage was created for a
// job that has left the node. A machine that the cover closes may still get a door.
func isLeft(m *scene.Node) bool {
	return m.Set.Flex.Salvage && !m.Cover && len(m.Machines) == 1 && m.HasMachine() && wasForAJob(m)
}
