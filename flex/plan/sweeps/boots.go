package sweeps

import (
	"maps"
	"slices"

	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/demand"
	"slurmflex/flex/plan/memo"
	"slurmflex/flex/plan/rules"
)

// powerDownLate powers down nodes without a job if their instances have run for boot_timeout
// without registering.
func powerDownLate(w *demand.Wanted, _ []rules.Verdict) (s Step) {
	for _, set := range w.Scene.Config.NodeSets {
		b := w.Scene.Boots(set)
		if b == nil {
			continue
		}
		reason := rules.BootText(set)
		byRecord := map[string][]string{}
		records := rules.FailedBoots(w, b.Late)
		for _, name := range b.Late {
			if w.Scene.Node(name).Owner() == nil {
				byRecord[records[name]] = append(byRecord[records[name]], name)
			}
		}
		for _, record := range slices.Sorted(maps.Keys(byRecord)) {
			change := action.SetNodes{Nodes: byRecord[record], State: "power_down_force", Reason: memo.ReasonPrefix + reason, Why: action.Why(reason)}
			if record != "" {
				change.Extra = &record
			}
			s.Actions = append(s.Actions, change)
		}
	}
	return s
}

// forgetBoots clears the records of failed boots that no longer count.
func forgetBoots(w *demand.Wanted, _ []rules.Verdict) (s Step) {
	var nodes []string
	for _, set := range w.Scene.Config.NodeSets {
		if b := w.Scene.Boots(set); b != nil {
			nodes = append(nodes, b.Recovered...)
		}
	}
	empty := ""
	return Step{Actions: []action.Action{action.SetNodes{Nodes: nodes, Extra: &empty, Why: "their nodeset's instances come up again, or have had time to"}}}
}
