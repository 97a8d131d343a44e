package plan_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"slurmflex/flex/plan"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// leavesNothingInSilence: for each node that a job waits for there is exactly one of
// a live request, a dated next attempt, an obstacle that is named, or what this plan
// does about it.
func leavesNothingInSilence(s *sight, p plan.Plan) (wrong []string) {
	s = sightOf(s.cfg, s.snap.Recalled())
	waits := map[string][]plan.Wait{}
	for _, w := range p.Waits {
		for _, n := range w.Nodes {
			waits[n] = append(waits[n], w)
		}
	}
	done := slices.Concat(asked(p), s.takenBack(p))
	shown := slices.Clone(s.snap.Nodes)
	for name := range s.jobs {
		if _, there := s.nodes[name]; !there { // powers up, as far as we know
			shown = append(shown, slurm.Node{Name: name, State: slurm.ParseState("ALLOCATED+CLOUD+POWERING_UP")})
		}
	}
	for _, n := range shown {
		set, _, known := s.cfg.Find(n.Name)
		if !known || set.Flex == nil || !s.isAwaited(n) || s.hasMachine(n.Name) || slices.Contains(done, n.Name) {
			continue
		}
		if len(waits[n.Name]) != 1 {
			wrong = append(wrong, fmt.Sprintf("a job waits for %s, of which %d waits are named", n.Name, len(waits[n.Name])))
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

// takenBack are the nodes of jobs that a plan returns to Slurm, which lose them as
// a whole, and those that it powers down.
func (s *sight) takenBack(p plan.Plan) (names []string) {
	for _, a := range p.Actions {
		switch a := a.(type) {
		case plan.ReturnNodes:
			names = append(names, a.Nodes...)
			for _, j := range s.snap.Jobs {
				if j.ID == a.Job {
					names = append(names, j.Nodes...)
				}
			}
		case plan.SetNodes:
			if a.State == "power_down_force" {
				names = append(names, a.Nodes...)
			}
		}
	}
	return names
}

// isAwaited reports whether a job that has not begun waits for the node, and none is
// at work on it.
func (s *sight) isAwaited(n slurm.Node) bool {
	waits := func(state slurm.JobState) bool { return state == slurm.JobConfiguring || state == slurm.JobPowerUpNode }
	registered := n.State.Unknown == "" && n.State.Base != slurm.BaseUnknown && n.State.Base != slurm.Future &&
		n.State.Flags&(slurm.PoweringUp|slurm.PowerUp|slurm.PoweredDown|slurm.PoweringDown) == 0
	return s.busy(n.Name, waits) && !s.busy(n.Name, atWork) && !registered
}

// hasMachine reports whether an instance of ours is there for the node that may yet
// come up.
func (s *sight) hasMachine(node string) bool {
	return slices.ContainsFunc(s.instances[node], func(in mig.Instance) bool {
		g, ours := s.groups[in.Region+"/"+in.Group]
		ours = ours && !g.Stamp.Newer() || in.Group == "" && in.Stamp.Cluster == cluster
		return ours && !in.Leaving()
	})
}

// B8: a job of another user that Slurm places on nodes which a job waits for takes
// from that job no request.
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
			if before[key] == (plan.CancelRequest{}) && w.waitsForAll(g, a.Request) && g.Stamp.NodeSet == placed.Name {
				t.Fatalf("%s: %s, for job 99 on %v\nin this world:\n%s", a, a.Because(), w.jobs[99].Nodes, told(w))
			}
		}
	})
}

// B9: a request gives its place up for one more important cohort of a nodeset that
// has none, and its nodeset keeps one.
func keepsAPlaceForEachNodeset(s *sight, p plan.Plan) (wrong []string) {
	live, states := map[string]int{}, map[string]mig.RequestState{}
	for _, g := range s.groups {
		live[g.Stamp.NodeSet] += len(g.Live())
		for _, r := range g.Live() {
			states[g.Region+"/"+g.Name+"/"+r.Name] = r.State
		}
	}
	for _, a := range p.Actions {
		c, ok := a.(plan.CancelRequest)
		if !ok || !strings.Contains(c.Because(), "for which a more important job waits") {
			continue
		}
		set := s.groups[c.Group.String()].Stamp.NodeSet
		live[set]--
		if live[set] < 1 || states[c.Group.String()+"/"+c.Request] != mig.Accepted {
			wrong = append(wrong, fmt.Sprintf("%s, which leaves nodeset %s %d: %s", c, set, live[set], c.Because()))
		}
	}
	return wrong
}

// cancelledBy are the requests that the plan for a world cancels.
func cancelledBy(w *world) map[string]plan.CancelRequest {
	all := map[string]plan.CancelRequest{}
	for _, a := range plan.Compute(w.cfg, w.snapshot()).Actions {
		if a, ok := a.(plan.CancelRequest); ok {
			all[a.Group.String()+"/"+a.Request] = a
		}
	}
	return all
}

// waitsForAll reports whether the job that a group was made for waits for all that
// one of its requests is to bring.
func (w *world) waitsForAll(g mig.Group, request string) bool {
	j, there := w.jobs[g.Stamp.Job]
	at := slices.IndexFunc(g.Requests, func(r mig.Request) bool { return r.Name == request })
	return there && j.State == slurm.JobConfiguring && !slices.ContainsFunc(g.Requests[at].Instances, func(n string) bool {
		return !slices.Contains(j.Nodes, n)
	})
}
