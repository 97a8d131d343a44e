package sweeps

import (
	"maps"
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
	for _, set := range s.Config.FlexSets() {
		b := s.Boots(set)
		for _, name := range slices.Sorted(maps.Keys(b.Unhealthy)) {
			m, why := s.Node(name), rules.HealthText(name, b.Unhealthy[name])
			change := action.SetNodes{Nodes: []string{name}, State: "power_down_force", Reason: memo.ReasonPrefix + why, Why: action.Why(why)}
			if _, ok := memo.CheckResult(m.Comment); ok {
				change.Comment = new(string)
			}
			if record := rules.FailedBoots(s.Wanted, change.Nodes)[name]; record != "" {
				change.Extra = &record
			}
			if job := m.Owner(); job != nil {
				change.Jobs = []uint32{job.ID}
				s.notify(job.ID, memo.Done{Deed: memo.Again, Reason: why}.String(), change.About().Queue)
			}
			s.do(change)
		}
	}
}

// powerDownLate powers down nodes without a job if their instances have run for boot_timeout
// without registering. It counts the failed boots of nodes whose instances are replaced.
func powerDownLate(s *Step) {
	for _, set := range s.Config.FlexSets() {
		b := s.Boots(set)
		reason := rules.BootText(set)
		idle, replaced := map[string][]string{}, map[string][]string{}
		records := rules.FailedBoots(s.Wanted, b.Late)
		for _, name := range b.Late {
			switch m := s.Node(name); {
			case m.Owner() == nil:
				idle[records[name]] = append(idle[records[name]], name)
			case isReplaced(s.Wanted, m) && records[name] != "" && !b.Records[name].Last.Equal(b.LastMade(m).Truncate(time.Second)):
				replaced[records[name]] = append(replaced[records[name]], name)
			}
		}
		for _, record := range slices.Sorted(maps.Keys(idle)) {
			change := action.SetNodes{Nodes: idle[record], State: "power_down_force", Reason: memo.ReasonPrefix + reason, Why: action.Why(reason)}
			if record != "" {
				change.Extra = &record
			}
			s.do(change)
		}
		for _, record := range slices.Sorted(maps.Keys(replaced)) {
			s.do(action.SetNodes{Nodes: replaced[record], Extra: &record, Why: action.Why(reason)})
		}
	}
}

// isReplaced reports whether the node's instance did not boot within boot_timeout, and the jobs that
// wait for it keep the node, because Slurm would end them without it.
func isReplaced(w *demand.Wanted, m *scene.Node) bool {
	c := w.ClaimOf(m)
	return c != nil && c.Job != nil && slices.Contains(w.Boots(m.Set).Late, m.Name) && rules.Keeps(w.Scene, c)
}

// forgetBoots clears the records of failed boots and blocks that no longer count.
func forgetBoots(s *Step) {
	var nodes []string
	for _, set := range s.Config.FlexSets() {
		nodes = append(nodes, s.Boots(set).Recovered...)
	}
	empty := ""
	s.do(action.SetNodes{Nodes: nodes, Extra: &empty, Why: "the record no longer counts"})
}
