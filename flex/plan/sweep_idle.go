package plan

import (
	"fmt"
	"slices"
	"time"

	"slurmflex/config"
	"slurmflex/flex/plan/memo"
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
	for _, m := range w.members {
		if m.power != up || !m.idle() || len(m.jobs) > 0 || m.set.IsStatic(m.index) || m.State.Has(slurm.PowerDown) || w.isUnread(m) || m.promised {
			continue
		}
		if m.set.Flex.KeepIdle == 0 {
			if w.isLeft(m) {
				const why = "its job has left it"
				s.actions = append(s.actions, SetNodes{Nodes: []string{m.Name}, State: "power_down", Reason: memo.ReasonPrefix + why, Why: why})
			}
			continue
		}
		end, ends := w.ending(m)
		until := KeptUntil(m.set, *m.Node, end)
		if until.IsZero() || !w.isOld(until, 0) {
			continue
		}
		why := fmt.Sprintf("idle for keep_idle %s", clock(m.set.Flex.KeepIdle))
		if until.Before(m.LastBusyTime.Add(m.set.Flex.KeepIdle)) {
			why = fmt.Sprintf("idle, and %s at %s, too soon for another job", ends, end.UTC().Format(time.RFC3339))
		}
		s.actions = append(s.actions, SetNodes{Nodes: []string{m.Name}, State: "power_down", Reason: memo.ReasonPrefix + why, Why: Why(why)})
	}
	return s
}

// keptUntil is when the idle node is powered down, as KeptUntil says.
func (s *scene) keptUntil(m *member) time.Time {
	end, _ := s.ending(m)
	return KeptUntil(m.set, *m.Node, end)
}

// ending is when the node's machine ends, and by what; zero if it does not.
func (s *scene) ending(m *member) (end time.Time, ends string) {
	for _, in := range m.machines {
		if s.ours(in) && !in.Until().IsZero() {
			end, ends = in.Until(), in.ending()
		}
	}
	return end, ends
}

// isLeft reports whether the machine of an idle node of a nodeset with salvage was made for
// a job that has left it, and is not about to be held for it.
func (w *wanted) isLeft(m *member) bool {
	if !m.set.Flex.Salvage || w.snap.Skew > maxSkew || m.LastBusyTime.IsZero() || len(m.machines) != 1 || !w.hasMachine(m.Name) {
		return false
	}
	job := m.machines[0].stamp().Job
	return job != 0 && !w.anyJob && w.salvages[job] == nil && !slices.ContainsFunc(w.snap.Jobs, func(j slurm.Job) bool {
		return j.ID == job && j.State == slurm.JobCompleting
	})
}
