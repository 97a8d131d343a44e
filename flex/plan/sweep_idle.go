package plan

import (
	"fmt"
	"slices"
	"time"

	"slurmflex/config"
	"slurmflex/flex/plan/memo"
	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
)

// KeptUntil is when an idle dynamic node of the nodeset, whose lease ends, or for
// whose host maintenance is announced, at that time, is powered down: when it has been
// idle for keep_idle, or too little of the lease is left to be of use, whichever comes
// first. It is zero for a node that is not kept, and while Slurm does not say since when
// it is idle.
//
// slurmctld sets LastBusyTime when a job leaves the node and when its slurmd registers,
// and by 22.05 and 23.11 for all nodes when it starts.
func KeptUntil(set *config.NodeSet, n slurm.Node, end time.Time) time.Time {
	if set.Flex.KeepIdle == 0 || n.LastBusyTime.IsZero() {
		return time.Time{}
	}
	until := n.LastBusyTime.Add(set.Flex.KeepIdle)
	if useful := end.Add(-config.UsefulLease); !end.IsZero() && useful.Before(until) {
		return useful
	}
	return until
}

// powerDownKept powers down the idle nodes that keep_idle has kept for long enough, and those
// that salvage alone keeps from being marked while their job runs. Slurm
// itself does by its SuspendTime, but knows neither the end of a lease nor
// nodesets. If a job takes such a node first, the mark waits for the job's end.
func powerDownKept(w *wanted, _ []verdict) (s step) {
	sets := covered(w.scene)
	for _, m := range w.scene.Nodes() {
		if m.Power != scene.On || !m.Idle() || len(m.Holders) > 0 || m.Set.IsStatic(m.Index) || m.State.Has(slurm.PowerDown) || w.scene.IsUnread(m) || w.isOpen(m, sets) || w.isKept(m) {
			continue
		}
		if m.Set.Flex.KeepIdle == 0 {
			if w.isLeft(m) || sets[m.Set] && m.Cover && wasForAJob(m) {
				const why = "its job has left it"
				s.actions = append(s.actions, SetNodes{Nodes: []string{m.Name}, State: "power_down", Reason: memo.ReasonPrefix + why, Why: why})
			}
			continue
		}
		end, ends := endingOf(w.scene, m)
		until := KeptUntil(m.Set, *m.Node, end)
		if until.IsZero() || !w.scene.IsOld(until, 0) {
			continue
		}
		why := fmt.Sprintf("idle for keep_idle %s", clock(m.Set.Flex.KeepIdle))
		if until.Before(m.LastBusyTime.Add(m.Set.Flex.KeepIdle)) {
			why = fmt.Sprintf("idle, and %s at %s, too soon for another job", ends, end.UTC().Format(time.RFC3339))
		}
		s.actions = append(s.actions, SetNodes{Nodes: []string{m.Name}, State: "power_down", Reason: memo.ReasonPrefix + why, Why: Why(why)})
	}
	return s
}

// wasForAJob reports whether the node's machine was created for a job, not for an admin who has powered
// up the node.
func wasForAJob(m *scene.Node) bool {
	return slices.ContainsFunc(m.Machines, func(in scene.Machine) bool { return in.Origin().Job != 0 || in.Origin().Array != 0 })
}

// isOpen reports whether Slurm would give the node to a waiting job as soon as it is powered down:
// the cover, which keeps jobs from its nodeset, does not have it yet.
func (w *wanted) isOpen(m *scene.Node, sets map[*config.NodeSet]bool) bool {
	return sets[m.Set] && !m.Cover && !isForeign(w.scene, m)
}

// keptUntil is when the idle node is powered down, as KeptUntil says.
func keptUntil(s *scene.Scene, m *scene.Node) time.Time {
	end, _ := endingOf(s, m)
	return KeptUntil(m.Set, *m.Node, end)
}

// endingOf is when the node's machine ends, and by what; zero if it does not.
func endingOf(s *scene.Scene, m *scene.Node) (end time.Time, ends string) {
	for _, in := range m.Machines {
		if s.Ours(in) && !in.Until().IsZero() {
			end, ends = in.Until(), in.Ending()
		}
	}
	return end, ends
}

// isLeft reports whether the machine of an idle node of a nodeset with salvage was created for a job that
// has left the node. A machine that the cover closes may still get a door.
func (w *wanted) isLeft(m *scene.Node) bool {
	return m.Set.Flex.Salvage && !m.Cover && len(m.Machines) == 1 && w.scene.HasMachine(m.Name) && m.Machines[0].Origin().Job != 0
}
