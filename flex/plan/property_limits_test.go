package plan_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"slurmflex/config"
	"slurmflex/flex/plan"
	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/demand"
	"slurmflex/flex/plan/memo"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
	"slurmflex/slurm"
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
			region, _, _ := strings.Cut(a.Queue(), "/")
			regions = []string{region}
		}
		for _, region := range regions {
			if s.snap.Unseen[region] != nil {
				wrong = append(wrong, fmt.Sprintf("%s could not be read: %s", region, a))
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
			names = append(names, a.About().Nodes...)
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

// asksForNoNodeThatItGivesBack: a plan does not request a node that it powers down.
func asksForNoNodeThatItGivesBack(_ *sight, p plan.Plan) (wrong []string) {
	wanted := asked(p)
	for _, a := range p.Actions {
		var nodes []string
		switch a := a.(type) {
		case action.ReturnNodes:
			nodes = a.Nodes
		case action.SetNodes:
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

// asksForNothingBlocked: no plan requests a node of a nodeset while any of its nodes has an admin's
// block that has not ended.
func asksForNothingBlocked(s *sight, p plan.Plan) (wrong []string) {
	blocked := map[*config.NodeSet]bool{}
	for _, n := range s.snap.Nodes {
		b, ok := memo.ParseBlock(n.Extra)
		if set, _, known := s.cfg.Find(n.Name); ok && known && (b.Until.IsZero() || b.Until.After(s.snap.Now)) {
			blocked[set] = true
		}
	}
	for _, name := range asked(p) {
		if set, _, _ := s.cfg.Find(name); blocked[set] {
			wrong = append(wrong, fmt.Sprintf("node %s is asked for, and nodeset %s is blocked", name, set.Name))
		}
	}
	return wrong
}

// keepsToLimits: a plan makes no request after which a limit is passed by what was used, and what
// machines, live requests and the plan's requests may still take. What the plan's requests take is
// counted again here.
func keepsToLimits(s *sight, p plan.Plan) (wrong []string) {
	for i, l := range p.Limits {
		hours, requests := 0.0, 0
		for _, a := range p.Actions {
			machine := 24 * time.Hour // the period
			var job uint32
			switch a := a.(type) {
			case action.CreateRequest:
				if a.Shared {
					continue
				}
				job = a.Job
				if a.Spec.Duration > 0 {
					machine = min(machine, a.Spec.Duration)
				}
			case action.BulkInsert:
				job = a.Job
			default:
				continue
			}
			j := s.job(job)
			if l.Account != "" && s.snap.Accounts[job] != l.Account || l.Partition != "" && j.Partition != l.Partition {
				continue
			}
			if j.Limit.Kind == slurm.LimitSet {
				machine = min(machine, j.Limit.Duration)
			}
			hours += float64(len(a.About().Nodes)) * machine.Hours()
			requests++
		}
		if requests == 0 {
			continue
		}
		used := s.snap.Spent.Of[i].Used
		for what, amount := range map[string]scene.Amount{"used and requested": used.Plus(scene.Amount{GPU: 8 * 3600, Cost: 40}.Times(hours)), "used or reserved": l.Whole} {
			if l.GPUHours > 0 && amount.GPU > 3600*float64(l.GPUHours)+1 || l.Cost > 0 && amount.Cost > float64(l.Cost)+0.001 {
				wrong = append(wrong, fmt.Sprintf("after %d requests, %.1f GPU hours and %.0f USD of limit %s are %s", requests, amount.GPU/3600, amount.Cost, l.Name, what))
			}
		}
	}
	return wrong
}

// keepsToMaxActiveRequests: no request exceeds the limit of its region.
func keepsToMaxActiveRequests(s *sight, p plan.Plan) (wrong []string) {
	active := map[string]int{}
	for _, g := range s.groups {
		active[g.Region] += len(g.Live())
	}
	for _, a := range p.Actions {
		if a, ok := a.(action.CreateRequest); ok {
			active[a.Group.Region]++
			if active[a.Group.Region] > s.cfg.Options.MaxActiveRequests {
				wrong = append(wrong, fmt.Sprintf("active request no. %d: %s", active[a.Group.Region], a))
			}
		}
	}
	return wrong
}

// keepsToMaxDeletions: of the instances that a plan deletes, the allowed number at most belong to
// nodes that Slurm has neither powered down nor set DOWN at ResumeTimeout.
func keepsToMaxDeletions(s *sight, p plan.Plan) []string {
	var unasked []string
	for _, a := range p.Actions {
		var instances []mig.Instance
		switch a := a.(type) {
		case action.DeleteInstances:
			instances = a.Instances
		case action.DeleteVMs:
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

// deletesOnlyWhatIsFinished: a group is deleted only if it is empty and without live requests, and
// not by a plan that uses it. A request's record is deleted only if the request is not live.
func deletesOnlyWhatIsFinished(s *sight, p plan.Plan) (wrong []string) {
	used := map[string]bool{}
	for _, a := range p.Actions {
		if a, ok := a.(action.CreateRequest); ok {
			used[a.Group.String()] = true
		}
	}
	for _, in := range s.snap.Instances {
		used[in.Region+"/"+in.Group] = true
	}
	for _, a := range p.Actions {
		var live []mig.Request
		switch a := a.(type) {
		case action.DeleteGroup:
			key := a.Group.String()
			live = s.groups[key].Live()
			if used[key] {
				wrong = append(wrong, "it is not empty: "+a.String())
			}
		case action.DeleteRequest:
			live = slices.DeleteFunc(s.groups[a.Group.String()].Live(), func(r mig.Request) bool { return r.Name != a.Request })
		}
		if len(live) > 0 {
			wrong = append(wrong, fmt.Sprintf("request %s is live: %s", live[0].Name, a))
		}
	}
	return wrong
}

// fitName matches a name that Compute accepts: an RFC 1035 label.
var fitName = regexp.MustCompile(`^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$`)

// givesFitNames: new resources have names that Compute accepts, and no new request has the name of
// a recorded one.
func givesFitNames(s *sight, p plan.Plan) (wrong []string) {
	for _, a := range p.Actions {
		name := "a1"
		switch a := a.(type) {
		case action.CreateGroup:
			name = a.Spec.Name
		case action.CreatePolicy:
			name = a.Spec.Name
		case action.CreateRequest:
			name = a.Spec.Name
			for _, r := range s.groups[a.Group.String()].Requests {
				if r.Name == name {
					wrong = append(wrong, "there is such a request already: "+a.String())
				}
			}
		}
		if !fitName.MatchString(name) {
			wrong = append(wrong, fmt.Sprintf("%q is not a valid name in Compute: %s", name, a))
		}
	}
	return wrong
}

// saysWhy: each action has a reason and a line for the log. Each problem and each expectation is
// one line.
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

// leavesNothingInSilence: for each node that a job waits for there is exactly one explanation: a
// live request, a next attempt with a time, a named obstacle, or an action of this plan.
func leavesNothingInSilence(s *sight, p plan.Plan) (wrong []string) {
	s = sightOf(s.cfg, scene.Of(s.cfg, s.snap).Recalled().Seen)
	waits := map[string][]demand.Wait{}
	for _, w := range p.Waits {
		for _, n := range w.Nodes {
			waits[n] = append(waits[n], w)
		}
	}
	done := slices.Concat(asked(p), s.takenBack(p))
	shown := slices.Clone(s.snap.Nodes)
	for name := range s.jobs {
		if _, there := s.nodes[name]; !there { // an unread node counts as powering up
			shown = append(shown, slurm.Node{Name: name, State: slurm.ParseState("ALLOCATED+CLOUD+POWERING_UP")})
		}
	}
	for _, n := range shown {
		set, _, known := s.cfg.Find(n.Name)
		if !known || set.Flex == nil || !s.isAwaited(n) || s.hasMachine(n.Name) || slices.Contains(done, n.Name) {
			continue
		}
		if len(waits[n.Name]) != 1 {
			wrong = append(wrong, fmt.Sprintf("a job waits for %s, and the plan names %d waits for it", n.Name, len(waits[n.Name])))
			continue
		}
		w := waits[n.Name][0]
		live := w.Request != "" && slices.Contains(s.live[n.Name], w.Region+"/"+w.Group+"/"+w.Request)
		switch {
		case w.Request != "" && !live:
			wrong = append(wrong, fmt.Sprintf("%s waits for request %s, which does not ask for it", n.Name, w.Request))
		case live == (w.Obstacle != ""):
			wrong = append(wrong, fmt.Sprintf("%s waits for request %q and for %q", n.Name, w.Request, w.Obstacle))
		case !w.Next.IsZero() && (live || w.Failed == 0):
			wrong = append(wrong, fmt.Sprintf("%s has a next attempt at %s after %d that failed", n.Name, w.Next, w.Failed))
		}
	}
	return wrong
}

// takenBack returns the nodes of jobs that lose all their nodes by the plan, and the nodes that the
// plan powers down.
func (s *sight) takenBack(p plan.Plan) (names []string) {
	for _, a := range p.Actions {
		switch a := a.(type) {
		case action.ReturnNodes:
			names = append(names, a.Nodes...)
			for _, j := range s.snap.Jobs {
				if j.ID == a.Job {
					names = append(names, j.Nodes...)
				}
			}
		case action.SetNodes:
			if a.State == "power_down_force" {
				names = append(names, a.Nodes...)
			}
		}
	}
	return names
}

// isAwaited reports whether a job that has not started waits for the node, and no job runs on it.
func (s *sight) isAwaited(n slurm.Node) bool {
	waits := func(state slurm.JobState) bool { return state == slurm.JobConfiguring || state == slurm.JobPowerUpNode }
	registered := n.State.Unknown == "" && n.State.Base != slurm.BaseUnknown && n.State.Base != slurm.Future &&
		n.State.Flags&(slurm.PoweringUp|slurm.PowerUp|slurm.PoweredDown|slurm.PoweringDown) == 0
	return s.busy(n.Name, waits) && !s.busy(n.Name, atWork) && !registered
}

// hasMachine reports whether the node has an instance of ours that may still boot.
func (s *sight) hasMachine(node string) bool {
	return slices.ContainsFunc(s.instances[node], func(in mig.Instance) bool {
		g, ours := s.groups[in.Region+"/"+in.Group]
		ours = ours && !g.Stamp.Newer() || in.Group == "" && in.Stamp.Cluster == cluster
		return ours && !in.Leaving()
	})
}

// B8: if Slurm places another user's job on nodes that a job waits for, the waiting job keeps its
// request.
func TestNoJobCancelsTheRequestOfAnother(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		before := cancelledBy(w)
		placed := pick(t, "on nodes of", w.flexSets()...)
		w.jobs[99] = slurm.Job{
			ID: 99, ArrayID: 99, State: slurm.JobConfiguring, Partition: "shared", Nodes: distinct(t, "its nodes too", 3, w.nodesOf(placed)),
			Limit: slurm.ParseLimit(pick(t, "its limit", "5:00", "12:01:00", "365-00:00:00", "UNLIMITED")), Priority: uint64(upTo(t, "its priority", 3)),
			Start: noon.Add(-time.Second),
		}
		after := cancelledBy(w)
		for key, a := range after {
			g := w.groups[a.Group.String()]
			if before[key] == (action.CancelRequest{}) && w.waitsForAll(g, a.Request) && g.Stamp.NodeSet == placed.Name {
				t.Fatalf("%s: %s, for job 99 on %v\nin this world:\n%s", a, a.Because(), w.jobs[99].Nodes, told(w))
			}
		}
	})
}

// cancelledBy returns the requests that the plan for a world cancels.
func cancelledBy(w *world) map[string]action.CancelRequest {
	all := map[string]action.CancelRequest{}
	for _, a := range plan.Compute(scene.Of(w.cfg, w.snapshot())).Actions {
		if a, ok := a.(action.CancelRequest); ok {
			all[a.Group.String()+"/"+a.Request] = a
		}
	}
	return all
}

// waitsForAll reports whether the job or array tasks that a group was created for wait for all
// nodes that one of the group's requests names.
func (w *world) waitsForAll(g mig.Group, request string) bool {
	at := slices.IndexFunc(g.Requests, func(r mig.Request) bool { return r.Name == request })
	return !slices.ContainsFunc(g.Requests[at].Instances, func(name string) bool {
		for _, j := range w.jobs {
			if g.Stamp.IsFor(j.ID, j.Array(), j.User) && j.State == slurm.JobConfiguring && slices.Contains(j.Nodes, name) {
				return false
			}
		}
		return true
	})
}
