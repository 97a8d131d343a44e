package scene

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"slurmflex/flex/plan/memo"
	"slurmflex/slurm"
)

// Loss describes nodes that jobs hold and that are up in Slurm although their machines are gone or
// broken.
type Loss struct {
	NodeSet string
	Region  string
	Nodes   []string
	Jobs    []uint32 // the most important first
	Cause   LossCause
	Certain bool      // two passes have found the loss
	Ended   time.Time // when the first lease ended or maintenance started, if that is the cause
}

// LossCause is the reason why a job lost a machine.
type LossCause string

// The causes.
const (
	LeaseEnded LossCause = "lease_ended"
	Maintained LossCause = "maintenance" // announced maintenance of its host has started
	Repaired   LossCause = "host_error"  // Compute is repairing it: its host failed
	Preempted  LossCause = "preempted"   // Google preempted a Spot machine
	Stopped    LossCause = "stopped"     // it exists and cannot be restarted
	// Compute does not list it: someone deleted it, or Google lost it.
	Gone LossCause = "gone"
)

// LossCauses returns all causes.
func LossCauses() []LossCause {
	return []LossCause{LeaseEnded, Maintained, Repaired, Preempted, Stopped, Gone}
}

// String describes the loss.
func (l Loss) String() string {
	machine, is := "machine", "is"
	if len(l.Nodes) > 1 {
		machine, is = "machines", "are"
	}
	subject := fmt.Sprintf("the %s of %s %s ", machine, slurm.Fold(l.Nodes), is)
	switch l.Cause {
	case LeaseEnded:
		return subject + "gone: the lease ended at " + l.Ended.UTC().Format(time.RFC3339)
	case Maintained:
		return subject + "stopped: maintenance of its host began at " + l.Ended.UTC().Format(time.RFC3339)
	case Repaired:
		return subject + "lost: its host has failed (Compute shows REPAIRING)"
	case Preempted:
		return subject + "preempted: Google takes Spot capacity back"
	case Stopped:
		return subject + "stopped, and cannot be started again"
	}
	return subject + "gone: deleted by somebody, or lost by Google"
}

// lossOf returns why the machine of a node that is up was lost; empty if it was not. A machine that a list may show in a
// moment does not count as lost, and neither does one with a stranger's machine in its place.
func (s builder) lossOf(m *Node) (cause LossCause) {
	if m.State.Power() != On || len(m.Requests) > 0 || s.isHidden(m) || m.MayShow || s.Seen.Inserted[m.Name] {
		return ""
	}
	var leaseEnd time.Time
	for _, in := range m.Machines {
		if !in.Lost() || !s.Seen.Missed[m.Name] && !m.State.Has(slurm.NotResponding) { // the list may be old
			return ""
		}
		cause, leaseEnd = Stopped, in.End()
		switch {
		case in.Preempted():
			cause = Preempted
		case !in.Stopped():
			cause = Repaired
		}
	}
	switch over := !m.Ended.IsZero(); {
	case over && (m.Set.Flex.MaxRunDuration == 0 || cause == Stopped && m.Ended.Before(leaseEnd.Truncate(time.Minute))):
		return Maintained
	case over:
		return LeaseEnded
	case s.Seen.Preempted[m.Name]:
		return Preempted
	}
	return cmp.Or(cause, Gone)
}

// isLost reports whether the machine of a node that is up is certainly lost: two passes have found
// it lost, and every instance that Compute shows under its name is ours and was read. No group can
// confirm the loss of a machine from bulk insert, and a list alone may omit a machine. Slurm must
// therefore miss that machine too.
func (s builder) isLost(m *Node) bool {
	if m.LostBy == Gone && m.Set.Flex.UseBulkInsert && !m.State.Has(slurm.NotResponding) {
		return false
	}
	return m.LostBy != "" && s.Seen.Missed[m.Name] && !m.IsUnread && !m.Doubted &&
		!slices.ContainsFunc(m.Machines, func(in Machine) bool { return !in.Ours })
}

// IsTakenDown reports whether Slurm shows the node as DOWN because slurmflex set it DOWN for a lost
// machine.
func (m *Node) IsTakenDown() bool {
	return m.State.Base == slurm.Down && m.Power == On && memo.IsLost(m.Reason)
}

// addLosses finds the lost machines, and joins the losses of the same jobs for the same cause.
func (s builder) addLosses() {
	for _, h := range s.Holds {
		if h.Kind != memo.LeaseHold || !s.IsOld(h.At, 0) {
			continue
		}
		for _, m := range s.NodesNamed(h.Nodes) {
			m.Ended = Later(m.Ended, h.At)
		}
	}
	for _, m := range s.Nodes {
		if seen := s.Seen.Ends[m.Name]; !m.Ended.IsZero() && seen.Truncate(time.Minute).Equal(m.Ended) && s.IsOld(seen, 0) {
			m.Ended = seen
		}
		m.LostBy = s.lossOf(m)
		m.IsLost = s.isLost(m)
		if m.LostBy == "" || m.Owner == nil {
			continue
		}
		l := Loss{NodeSet: m.Set.Name, Region: m.Set.Region, Nodes: []string{m.Name}, Cause: m.LostBy, Certain: m.IsLost, Ended: m.Ended}
		for _, j := range m.Holders {
			if j.State != slurm.JobCompleting {
				l.Jobs = append(l.Jobs, j.ID)
			}
		}
		at := slices.IndexFunc(s.Losses, func(k Loss) bool {
			return k.NodeSet == l.NodeSet && k.Cause == l.Cause && k.Certain == l.Certain && k.Ended.Truncate(time.Minute).Equal(l.Ended.Truncate(time.Minute)) && slices.Equal(k.Jobs, l.Jobs)
		})
		if at < 0 {
			s.Losses = append(s.Losses, l)
			continue
		}
		first := &s.Losses[at]
		first.Nodes = append(first.Nodes, m.Name)
		if l.Ended.Before(first.Ended) {
			first.Ended = l.Ended
		}
	}
}
