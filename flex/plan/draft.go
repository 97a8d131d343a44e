package plan

import (
	"maps"
	"slices"
	"strings"

	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/demand"
	"slurmflex/flex/plan/scene"
	"slurmflex/flex/plan/sweeps"
	"slurmflex/mig"
)

// draft is a plan under construction. Only the first action for a node is kept, so a plan
// changes no node twice.
type draft struct {
	scene    *scene.Scene
	plan     Plan
	changed  map[string]bool          // the nodes that an action changes
	names    map[mig.GroupID][]string // the planned requests
	reported map[scene.Problem]bool   // the problems already added
	// Jobs with an owner whom this plan already notifies of a return or a warning.
	heard   map[uint32]bool
	yielded []scene.Live // requests that yield their queue positions
	// By job: the queue of its request, which yields after the AdminComment is written.
	before map[uint32]string
}

func newDraft(s *scene.Scene) *draft {
	return &draft{scene: s, plan: Plan{Unseen: len(s.Seen.Unseen), Losses: s.Losses}, changed: map[string]bool{}, names: map[mig.GroupID][]string{}, reported: map[scene.Problem]bool{}, heard: map[uint32]bool{}, before: map[uint32]string{}}
}

func (d *draft) add(a action.Action) { d.plan.Actions = append(d.plan.Actions, a) }

// report adds problems without duplicates: jobs that share a group have the same problems.
func (d *draft) report(problems []scene.Problem) {
	for _, p := range problems {
		if !d.reported[p] {
			d.reported[p] = true
			d.plan.Problems = append(d.plan.Problems, p)
		}
	}
}

// take adds a sweep's actions, except for nodes that an earlier step changes. If an earlier step of the
// plan has acted on a job, the sweep's action on that job waits for the next pass, so that its
// owner reads one reason at a time.
func (d *draft) take(wants *sweeps.Step) {
	earlier := maps.Clone(d.heard)
	for _, a := range wants.Actions {
		if slices.ContainsFunc(action.ActsOn(a), func(job uint32) bool { return earlier[job] }) {
			continue
		}
		switch a := a.(type) {
		case action.SetNodes:
			d.setNodes(a)
			for _, job := range a.Jobs {
				d.heard[job] = true
			}
			continue
		case action.CommentJob:
			if d.heard[a.Job] {
				continue
			}
			d.heard[a.Job] = true
		}
		for _, job := range action.ActsOn(a) {
			d.heard[job] = true
		}
		d.add(a)
	}
	d.plan.Soon = d.plan.Soon || wants.Soon
	d.report(wants.Problems)
}

// setNodes plans a change for those nodes that no earlier action changes. It does not power
// down a node that an unreadable job may hold. One SetNodes covers all nodes with the same change.
func (d *draft) setNodes(change action.SetNodes) {
	down := strings.HasPrefix(change.State, "power_down")
	change.Nodes = slices.DeleteFunc(slices.Clone(change.Nodes), func(name string) bool {
		return d.changed[name] || down && d.scene.Node(name).Doubted
	})
	if len(change.Nodes) == 0 {
		return
	}
	for _, name := range change.Nodes {
		d.changed[name] = true
	}
	d.plan.Soon = d.plan.Soon || change.State != ""
	for i, a := range d.plan.Actions {
		if known, ok := a.(action.SetNodes); ok && isLike(known, change) {
			known.Nodes, known.Jobs = append(known.Nodes, change.Nodes...), append(known.Jobs, change.Jobs...)
			d.plan.Actions[i] = known
			return
		}
	}
	d.add(change)
}

// isLike reports whether both changes are the same, apart from the nodes.
func isLike(a action.SetNodes, b action.SetNodes) bool {
	return a.State == b.State && a.Reason == b.Reason && same(a.Comment, b.Comment) && same(a.Extra, b.Extra)
}

func same(a, b *string) bool { return a == b || a != nil && b != nil && *a == *b }

// cancel cancels the requests that serve no claim.
func (d *draft) cancel(requests []demand.Settled) {
	for _, r := range requests {
		switch {
		case r.Misfit != "" && r.Request.State != mig.Creating:
			d.cancelRequest(r.Live, false, r.Misfit)
		case r.Request.State == mig.Creating: // it is accepted, and then cancelled if it is a misfit
			d.plan.Soon = true
		}
	}
}

func (d *draft) cancelRequest(r scene.Live, yields bool, why string) {
	d.add(action.CancelRequest{Of: action.ForGroup(r.Group), Request: r.Request.Name, Yields: yields, Why: action.Why(why)})
	d.plan.Soon = true
}
