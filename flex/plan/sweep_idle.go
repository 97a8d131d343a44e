package plan

import (
	"fmt"
	"time"

	"slurmflex/config"
	"slurmflex/flex/plan/memo"
	"slurmflex/slurm"
)

// KeptUntil is when an idle dynamic node of the nodeset, whose lease ends at that time,
// is powered down: when it has been idle for keep_idle, or too little of the lease is
// left to be of use, whichever comes first. It is zero for a node that is not kept, and
// while Slurm does not say since when it is idle.
//
// slurmctld sets LastBusyTime when a job leaves the node and when its slurmd registers,
// and by 22.05 and 23.11 for all nodes when it starts.
func KeptUntil(set *config.NodeSet, n slurm.Node, leaseEnd time.Time) time.Time {
	if set.Flex.KeepIdle == 0 || n.LastBusyTime.IsZero() {
		return time.Time{}
	}
	until := n.LastBusyTime.Add(set.Flex.KeepIdle)
	if useful := leaseEnd.Add(-config.UsefulLease); !leaseEnd.IsZero() && useful.Before(until) {
		return useful
	}
	return until
}

// powerDownKept powers down the idle nodes that keep_idle has kept for long enough. Slurm
// itself does by its SuspendTime, but knows neither the end of a lease nor
// nodesets. If a job takes such a node first, the mark waits for the job's end.
func powerDownKept(w *wanted, _ []verdict) (s step) {
	for _, m := range w.members {
		if m.power != up || !m.idle() || len(m.jobs) > 0 || m.set.IsStatic(m.index) || m.State.Has(slurm.PowerDown) || w.isUnread(m) {
			continue
		}
		var leaseEnd time.Time
		for _, in := range m.machines {
			if w.ours(in) && !in.Terminates.IsZero() {
				leaseEnd = in.Terminates
			}
		}
		until := KeptUntil(m.set, *m.Node, leaseEnd)
		if until.IsZero() || !w.isOld(until, 0) {
			continue
		}
		why := fmt.Sprintf("idle for keep_idle %s", clock(m.set.Flex.KeepIdle))
		if until.Before(m.LastBusyTime.Add(m.set.Flex.KeepIdle)) {
			why = fmt.Sprintf("idle, and its lease ends at %s, too soon for another job", leaseEnd.UTC().Format(time.RFC3339))
		}
		s.actions = append(s.actions, SetNodes{Nodes: []string{m.Name}, State: "power_down", Reason: memo.ReasonPrefix + why, Why: Why(why)})
	}
	return s
}
