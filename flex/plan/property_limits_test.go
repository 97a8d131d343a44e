package plan_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"slurmflex/flex/plan"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// leavesUnseenRegions: nothing of a region that could not be read is created,
// cancelled or deleted.
func leavesUnseenRegions(s *sight, p plan.Plan) (wrong []string) {
	for _, a := range p.Actions {
		var regions []string
		switch a := a.(type) {
		case plan.CreateGroup:
			regions = []string{a.Spec.Region}
		case plan.CreateRequest:
			regions = []string{a.Group.Region}
		case plan.CancelRequest:
			regions = []string{a.Group.Region}
		case plan.DeleteInstances:
			regions = []string{a.Group.Region}
		case plan.DeleteGroup:
			regions = []string{a.Group.Region}
		case plan.DeleteRequest:
			regions = []string{a.Group.Region}
		case plan.BulkInsert:
			regions = []string{a.Spec.Region}
		case plan.CreatePolicy:
			regions = []string{a.Spec.Region}
		case plan.DeletePolicy:
			regions = []string{a.Group.Region}
		case plan.DeleteVMs:
			for _, in := range a.Instances {
				regions = append(regions, in.Region)
			}
		}
		for _, region := range regions {
			if s.snap.Unseen[region] != nil {
				wrong = append(wrong, fmt.Sprintf("%s could not be read: %s", region, a))
			}
		}
	}
	return wrong
}

// asked are the nodes that a plan asks the cloud for.
func asked(p plan.Plan) (names []string) {
	for _, a := range p.Actions {
		switch a := a.(type) {
		case plan.CreateRequest:
			names = append(names, a.Spec.Instances...)
		case plan.BulkInsert:
			names = append(names, a.Spec.Instances...)
		}
	}
	return names
}

// asksForNoNodeTwice: a node is asked for once, and not while a request of ours
// asks for it or an instance of its name is there, whatever its state.
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

// asksForNoNodeThatItGivesBack: what is powered down is not asked for.
func asksForNoNodeThatItGivesBack(_ *sight, p plan.Plan) (wrong []string) {
	wanted := asked(p)
	for _, a := range p.Actions {
		var nodes []string
		switch a := a.(type) {
		case plan.ReturnNodes:
			nodes = a.Nodes
		case plan.SetNodes:
			if a.State == "power_down_force" || a.State == "resume" {
				nodes = a.Nodes
			}
		}
		for _, n := range nodes {
			if slices.Contains(wanted, n) {
				wrong = append(wrong, fmt.Sprintf("node %s is asked for, and: %s", n, a))
			}
		}
	}
	return wrong
}

// keepsToMaxActiveRequests: no request is made that is one too many in its
// region.
func keepsToMaxActiveRequests(s *sight, p plan.Plan) (wrong []string) {
	active := map[string]int{}
	for _, g := range s.groups {
		active[g.Region] += len(g.Live())
	}
	for _, a := range p.Actions {
		if a, ok := a.(plan.CreateRequest); ok {
			active[a.Group.Region]++
			if active[a.Group.Region] > s.cfg.Options.MaxActiveRequests {
				wrong = append(wrong, fmt.Sprintf("active request no. %d: %s", active[a.Group.Region], a))
			}
		}
	}
	return wrong
}

// keepsToMaxDeletions: of the instances that a plan deletes, no more belong to
// nodes that Slurm has not powered down, or given up at ResumeTimeout, than are allowed.
func keepsToMaxDeletions(s *sight, p plan.Plan) []string {
	var unasked []string
	for _, a := range p.Actions {
		var instances []mig.Instance
		switch a := a.(type) {
		case plan.DeleteInstances:
			instances = a.Instances
		case plan.DeleteVMs:
			instances = a.Instances
		}
		for _, in := range instances {
			n, shown := s.nodes[in.Name]
			remembers := n.State.Has(slurm.PoweredDown) && !n.BootTime.IsZero() && !n.BootTime.Before(in.Created)
			timedOut := n.State.Base == slurm.Down && strings.HasSuffix(n.Reason, "ResumeTimeout reached")
			if !shown || !n.State.Has(slurm.PoweringDown) && !remembers && !timedOut && !(in.Stopped() && n.State.Has(slurm.PoweredDown)) {
				unasked = append(unasked, in.Name)
			}
		}
	}
	if len(unasked) > s.cfg.Options.MaxDeletions {
		return []string{fmt.Sprintf("%d may be deleted unasked, not %v", s.cfg.Options.MaxDeletions, unasked)}
	}
	return nil
}

// deletesOnlyWhatIsFinished: a group goes when it has neither instances nor live
// requests, and not in a plan that uses it; a request's record when it is not
// live.
func deletesOnlyWhatIsFinished(s *sight, p plan.Plan) (wrong []string) {
	used := map[string]bool{}
	for _, a := range p.Actions {
		if a, ok := a.(plan.CreateRequest); ok {
			used[a.Group.String()] = true
		}
	}
	for _, in := range s.snap.Instances {
		used[in.Region+"/"+in.Group] = true
	}
	for _, a := range p.Actions {
		var live []mig.Request
		switch a := a.(type) {
		case plan.DeleteGroup:
			key := a.Group.String()
			live = s.groups[key].Live()
			if used[key] {
				wrong = append(wrong, "it is not empty: "+a.String())
			}
		case plan.DeleteRequest:
			live = slices.DeleteFunc(s.groups[a.Group.String()].Live(), func(r mig.Request) bool { return r.Name != a.Request })
		}
		if len(live) > 0 {
			wrong = append(wrong, fmt.Sprintf("request %s is live: %s", live[0].Name, a))
		}
	}
	return wrong
}

// fitName is a name that Compute takes: an RFC 1035 label.
var fitName = regexp.MustCompile(`^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$`)

// givesFitNames: what is made has a name that Compute takes, and no request has
// that of one on record.
func givesFitNames(s *sight, p plan.Plan) (wrong []string) {
	for _, a := range p.Actions {
		name := "a1"
		switch a := a.(type) {
		case plan.CreateGroup:
			name = a.Spec.Name
		case plan.CreatePolicy:
			name = a.Spec.Name
		case plan.CreateRequest:
			name = a.Spec.Name
			for _, r := range s.groups[a.Group.String()].Requests {
				if r.Name == name {
					wrong = append(wrong, "there is such a request already: "+a.String())
				}
			}
		}
		if !fitName.MatchString(name) {
			wrong = append(wrong, fmt.Sprintf("%q is no name in Compute: %s", name, a))
		}
	}
	return wrong
}

// saysWhy: each action has a reason and a line for the log, each problem and
// each thing to expect is one line.
func saysWhy(_ *sight, p plan.Plan) (wrong []string) {
	lines := slices.Concat(p.Expect, p.Problems.Texts())
	for _, a := range p.Actions {
		lines = append(lines, a.String(), a.Because(), a.Queue())
	}
	for _, line := range lines {
		if line == "" || strings.Contains(line, "\n") {
			wrong = append(wrong, fmt.Sprintf("%q is not a line", line))
		}
	}
	return wrong
}
