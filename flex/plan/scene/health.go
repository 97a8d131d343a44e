package scene

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"slurmflex/flex/plan/memo"
	"slurmflex/slurm"
)

// lookAtHealth records what the health check of the node's machine shows, and reports whether it has
// drained the node. Slurm 22.05 may clear the Reason of a node that it powers down, so that any
// power-down counts.
func (s builder) lookAtHealth(m *Node) (checked bool) {
	result, checked := s.check(m)
	m.Unhealthy = s.unhealthy(m, result, checked)
	m.IsChecked = checked || (m.Set.Flex.HealthCheck > 0 || m.isInvalid()) && m.State.Flags&(slurm.PowerDown|slurm.PoweringDown) != 0
	m.IsDrainedInVain = checked && m.State.Flags&(slurm.PoweringDown|slurm.PoweredDown) != 0 && !m.Present() && !m.MayShow
	return checked
}

// unhealthy returns why the machine of a node failed its health check; empty if it did not. slurmd
// runs the check (HealthCheckProgram) before it registers and at intervals after that. A check that
// fails drains the node, with its result in the Reason and the Comment: if Slurm did not power up the
// node, 22.05 and 26.05 clear the Reason when slurmd registers. A job on the node ends first.
func (s builder) unhealthy(m *Node, result string, checked bool) (why string) {
	waits := len(m.Holders) == 0 || len(m.Holders) == 1 && m.Door != nil && m.Holders[0] == m.Door.Taker
	switch limit := m.Set.Flex.HealthCheck; {
	case !checked || !waits || m.State.Held() || !m.HasMachine():
		return ""
	case m.State.Power() != On || m.State.Has(slurm.PowerDown): // until it registers, boot_timeout counts
		return ""
	case result != "" && result != memo.Checking:
		return result
	case !m.LastBusyTime.IsZero() && s.IsOld(m.LastBusyTime, limit):
		return fmt.Sprintf("no result within health_check %s", slurm.Clock(limit))
	}
	return ""
}

// check returns the result of the health check that has drained the node; empty before the result.
// It reports false if the node is not drained, or an admin drained it. That the machine has less than
// configured is such a result, with and without health_check.
func (s builder) check(m *Node) (result string, checked bool) {
	if m.Set.Flex.HealthCheck == 0 && !m.isInvalid() || !m.State.Has(slurm.Drain) || m.State.Base == slurm.Down || m.State.Has(slurm.Fail) || m.Doubted || m.IsUnread {
		return "", false
	}
	if m.isInvalid() {
		return LessThanConfigured + m.Reason, true
	}
	result, ok := memo.CheckResult(cmp.Or(m.Reason, m.Comment))
	return result, ok || m.Reason == "" && m.HasMachine()
}

// LessThanConfigured begins the result for a machine whose slurmd has registered with fewer CPUs or GPUs, or
// with less memory, than slurm.conf gives its node.
const LessThanConfigured = "registered with less than slurm.conf says: "

// isInvalid reports whether slurmctld has drained the node because its machine has less than configured,
// or slurmflex powers it down for that.
func (m *Node) isInvalid() bool {
	drained := m.State.Has(slurm.InvalidReg) && (strings.HasPrefix(m.Reason, "Low ") || strings.HasPrefix(m.Reason, "gres/"))
	return drained || strings.Contains(m.Reason, LessThanConfigured)
}

// IsDrainedByCheck reports whether a health check has drained the node. It may be DOWN since.
func (m *Node) IsDrainedByCheck() bool {
	_, checked := memo.CheckResult(cmp.Or(m.Reason, m.Comment))
	return (checked && m.Set.Flex.HealthCheck > 0 || m.isInvalid()) && m.State.Has(slurm.Drain)
}

// BadHost describes a machine that failed its health check, for the physical host that it ran on.
type BadHost struct {
	Node string
	Why  string
	At   time.Time
}

// IsOnBadHost reports whether an earlier machine on the machine's host failed its health check in the
// last day, and returns that failure.
func (s *Scene) IsOnBadHost(in Machine) (earlier BadHost, bad bool) {
	earlier, bad = s.Seen.BadHosts[in.Host]
	return earlier, bad && in.Node != nil && in.Ours && !in.Leaving() && in.Created.After(earlier.At)
}
