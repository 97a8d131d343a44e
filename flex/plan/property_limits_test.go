package plan_test

import (
	"fmt"
	"strings"

	"slurmflex/flex/plan"
	"slurmflex/flex/plan/action"
)

// leavesUnseenRegions: nothing in a region that could not be read is created, cancelled or deleted.
func leavesUnseenRegions(s *sight, p plan.Plan) (wrong []string) {
	for _, a := range p.Actions {
		var regions []string
		switch a := a.(type) {
		case action.CreateGroup:
			regions = []string{a.Spec.Region}
		case action.BulkInsert:
			regions = []string{a.Spec.Region}
		case action.CreatePolicy:
			regions = []string{a.Spec.Region}
		case action.DeleteVMs:
			for _, in := range a.Instances {
				regions = append(regions, in.Region)
			}
		default: // the queue of an action in a group is region/group
			region, _, _ := strings.Cut(action.About(a).Queue, "/")
			regions = []string{region}
		}
		for _, region := range regions {
			if s.snap.Unseen[region] != nil {
				wrong = append(wrong, fmt.Sprintf("%s could not be read: %s", region, action.About(a).Text))
			}
		}
	}
	return wrong
}

// asked returns the nodes that a plan requests.
func asked(p plan.Plan) (names []string) {
	for _, a := range p.Actions {
		switch a.(type) {
		case action.CreateRequest, action.BulkInsert:
			names = append(names, action.About(a).Nodes...)
		}
	}
	return names
}

// asksForNoNodeTwice: a plan requests a node once, and not while a request of ours names it or an
// instance of its name exists in any state.
func asksForNoNodeTwice(s *sight, p plan.Plan) (wrong []string) {
	seen := map[string]bool{}
	for _, n := range asked(p) {
		if seen[n] || len(s.live[n]) > 0 || len(s.instances[n]) > 0 {
			wrong = append(wrong, fmt.Sprintf("node %s is asked for again: live requests %v, instances %v", n, s.live[n], s.instances[n]))
		}
		seen[n] = true
	}
	return wrong
}

// saysWhy: each action has a reason and a line for the log. Each problem is one line.
func saysWhy(_ *sight, p plan.Plan) (wrong []string) {
	lines := p.Problems.Texts()
	for _, a := range p.Actions {
		about := action.About(a)
		lines = append(lines, about.Text, a.Because(), about.Queue)
	}
	for _, line := range lines {
		if line == "" || strings.Contains(line, "\n") {
			wrong = append(wrong, fmt.Sprintf("%q is not a line", line))
		}
	}
	return wrong
}
