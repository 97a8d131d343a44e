// Package demand groups the nodes that must arrive together into claims, and finds the request that
// serves each. Before that it hands out node names and idle machines to the jobs that wait pending.
// It decides nothing about a claim; see package rules.
package demand

import (
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
)

// Wanted is a scene and the demand for its nodes: the claims, and the claim that each live
// request serves. Once it is built, only the rules change it: they add notes and withdraw requests.
type Wanted struct {
	*scene.Scene
	Claims []*Claim // by rank
	// By node, in the order of the scene's nodes; nil: no job needs the node, or it is not rising.
	of      []*Claim
	GroupOf map[mig.GroupID]bool // the claims' groups
	Settled []Settled            // all live requests

	// Heterogeneous jobs with a later component that waits for a machine.
	Incomplete map[uint32]bool
	// Running jobs that have lost machines, with the nodes of the machines that they keep.
	survivors map[uint32][]*scene.Node
	// Jobs that have lost machines and keep none, because of their time limits.
	Short  map[uint32]bool
	Handed handed                 // what jobs that wait pending get
	ends   map[*scene.Door]string // why the pass ends doors

	Budgets budgets // the limits on GPU hours and money
}

// Match assigns every rising node in demand to a claim, and every live request to the claim that
// it serves.
func Match(s *scene.Scene) *Wanted {
	w := &Wanted{
		Scene: s, of: make([]*Claim, len(s.Nodes)), GroupOf: map[mig.GroupID]bool{},
		Incomplete: map[uint32]bool{}, survivors: map[uint32][]*scene.Node{}, Short: map[uint32]bool{},
		ends: map[*scene.Door]string{},
	}
	w.findSurvivors()
	w.Handed = handOut(w.Scene)
	w.findEnds()
	w.gather()
	w.noteComponents()
	w.settleRequests()
	for _, c := range w.Claims {
		c.Missing, c.First = w.missing(c)
	}
	w.Budgets = budgetsOf(s, w.isAsked)
	return w
}

// findEnds notes why the pass ends doors. Another process than the daemon ends only those that no job
// can use any more.
func (w *Wanted) findEnds() {
	for _, d := range w.Doors {
		switch stage, why := StageOf(w.Scene, d); {
		case !w.Seen.Promises && stage != DoorEnded:
		case stage == DoorEnded || stage == DoorBroken || stage == DoorLate:
			w.ends[d] = why
		}
	}
}

// ClaimOf returns the claim of a node; nil unless the node is rising and in demand.
func (w *Wanted) ClaimOf(m *scene.Node) *Claim { return w.of[m.At] }
