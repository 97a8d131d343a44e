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
func replaceUnhealthy(w *demand.Wanted, _ []rules.Verdict) (s Step) {
	for _, set := range w.Config.NodeSets {
		b := w.Boots(set)
		if b == nil {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(b.Unhealthy)) {
			m, why := w.Node(name), rules.HealthText(name, b.Unhealthy[name])
			change := action.SetNodes{Nodes: []string{name}, State: "power_down_force", Reason: memo.ReasonPrefix + why, Why: action.Why(why)}
			if _, ok := memo.CheckResult(m.Comment); ok {
				change.Comment = new(string)
			}
			if record := rules.FailedBoots(w, change.Nodes)[name]; record != "" {
				change.Extra = &record
			}
			if job := m.Owner(); job != nil {
				change.Jobs = []uint32{job.ID}
				s.Actions = append(s.Actions, before(w.Scene, job.ID, memo.Done{Deed: memo.Again, Reason: why}.String(), change.Queue())...)
			}
			s.Actions = append(s.Actions, change)
		}
	}
	return s
}

// powerDownLate powers down nodes without a job if their instances have run for boot_timeout
// without registering. It counts the failed boots of nodes whose instances are replaced.
func powerDownLate(w *demand.Wanted, _ []rules.Verdict) (s Step) {
	for _, set := range w.Config.NodeSets {
		b := w.Boots(set)
		if b == nil {
			continue
		}
		reason := rules.BootText(set)
		idle, replaced := map[string][]string{}, map[string][]string{}
		records := rules.FailedBoots(w, b.Late)
		for _, name := range b.Late {
			switch m := w.Node(name); {
			case m.Owner() == nil:
				idle[records[name]] = append(idle[records[name]], name)
			case isReplaced(w, m) && records[name] != "" && !b.Records[name].Last.Equal(b.LastMade(m).Truncate(time.Second)):
				replaced[records[name]] = append(replaced[records[name]], name)
			}
		}
		for _, record := range slices.Sorted(maps.Keys(idle)) {
			change := action.SetNodes{Nodes: idle[record], State: "power_down_force", Reason: memo.ReasonPrefix + reason, Why: action.Why(reason)}
			if record != "" {
				change.Extra = &record
			}
			s.Actions = append(s.Actions, change)
		}
		for _, record := range slices.Sorted(maps.Keys(replaced)) {
			s.Actions = append(s.Actions, action.SetNodes{Nodes: replaced[record], Extra: &record, Why: action.Why(reason)})
		}
	}
	return s
}

// isReplaced reports whether the node's instance did not boot within boot_timeout, and the jobs that
// wait for it keep the node, because Slurm would end them without it.
func isReplaced(w *demand.Wanted, m *scene.Node) bool {
	c, b := w.ClaimOf(m), w.Boots(m.Set)
	return c != nil && c.Job != nil && b != nil && slices.Contains(b.Late, m.Name) && rules.Keeps(w.Scene, c)
}

// forgetBoots clears the records of failed boots and blocks that no longer count.
func forgetBoots(w *demand.Wanted, _ []rules.Verdict) (s Step) {
	var nodes []string
	for _, set := range w.Config.NodeSets {
		if b := w.Boots(set); b != nil {
			nodes = append(nodes, b.Recovered...)
		}
	}
	empty := ""
	return Step{Actions: []action.Action{action.SetNodes{Nodes: nodes, Extra: &empty, Why: "the record no longer counts"}}}
}
