package sweeps

import (
	"slices"
	"time"

	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/demand"
	"slurmflex/flex/plan/memo"
	"slurmflex/flex/plan/rules"
	"slurmflex/flex/plan/scene"
)

// replaceUnhealthy powers down the nodes of machines that failed their health check, so that the
// machines are deleted. A job that waits for the node behind a door keeps the door and its other
// machines. Its owner is notified first.
func replaceUnhealthy(s *Step) {
	for _, m := range s.Nodes {
		if m.Unhealthy == "" {
			continue
		}
		why := rules.HealthText(m.Name, m.Unhealthy)
		change := powerDown("power_down_force", why, m.Name)
		if _, ok := memo.CheckResult(m.Comment); ok {
			change.Comment = new(string)
		}
		if record := rules.FailedBoots(s.Wanted, change.Nodes)[m.Name]; record != "" {
			change.Extra = &record
		}
		if job := m.Owner; job != nil {
			change.Jobs = []uint32{job.ID}
			s.notify(job.ID, memo.OwnComment+memo.Done{Deed: memo.Again, Reason: why}.String(), action.About(change).Queue)
		}
		s.do(change)
	}
}

// powerDownLate powers down nodes without a job if their instances have run for boot_timeout
// without registering. It counts the failed boots of nodes whose instances are replaced.
func powerDownLate(s *Step) {
	for _, set := range s.Config.FlexSets() {
		b, reason := s.Sets[set], rules.BootText(set)
		records := rules.FailedBoots(s.Wanted, b.Late)
		for _, name := range b.Late {
			m, change := s.Node(name), action.SetNodes{Nodes: []string{name}, Why: action.Why(reason)}
			if m.Owner == nil {
				change = powerDown("power_down_force", reason, name)
			}
			if record := records[name]; record != "" {
				change.Extra = &record
			}
			if m.Owner == nil || change.Extra != nil && isReplaced(s.Wanted, m) && !b.Records[name].Last.Equal(b.LastMade(m).Truncate(time.Second)) {
				s.do(change)
			}
		}
	}
}

// isReplaced reports whether the node's instance did not boot within boot_timeout, and the jobs that
// wait for it keep the node, because Slurm would end them without it.
func isReplaced(w *demand.Wanted, m *scene.Node) bool {
	c := w.ClaimOf(m)
	return c != nil && c.Job != nil && slices.Contains(w.Sets[m.Set].Late, m.Name) && w.WouldEnd(c.Holders)
}

// forgetBoots clears the records of failed boots and blocks that no longer count.
func forgetBoots(s *Step) {
	var nodes []string
	for _, set := range s.Config.FlexSets() {
		nodes = append(nodes, s.Sets[set].Recovered...)
	}
	empty := ""
	s.do(action.SetNodes{Nodes: nodes, Extra: &empty, Why: "the record no longer counts"})
}
