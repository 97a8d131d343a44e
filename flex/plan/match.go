package plan

import (
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
)

// wanted is a scene and the demand for its nodes: the cohorts, and the cohort that each live
// request serves. It does not change once it is built, except for the notes of the rules.
type wanted struct {
	scene   *scene.Scene
	cohorts []*cohort // by rank
	// By node, in the order of the scene's nodes; nil: no job needs the node, or it is not rising.
	of      []*cohort
	groupOf map[mig.GroupID]bool // the cohorts' groups
	settled []settled            // all live requests

	// Heterogeneous jobs with a later component that waits for a machine.
	incomplete map[uint32]bool
	// Running jobs that have lost machines, with the nodes of the machines that they keep.
	survivors map[uint32][]*scene.Node
	// Jobs that have lost machines and keep none, because of their time limits.
	short  map[uint32]bool
	handed handout // what jobs that wait pending get
}

// match assigns every rising node in demand to a cohort, and every live request to the cohort that
// it serves.
func match(s *scene.Scene) *wanted {
	w := &wanted{
		scene: s, of: make([]*cohort, len(s.Nodes())), groupOf: map[mig.GroupID]bool{},
		incomplete: map[uint32]bool{}, survivors: map[uint32][]*scene.Node{}, short: map[uint32]bool{},
	}
	w.findSurvivors()
	w.handed = handOut(w.scene)
	w.gather()
	w.noteComponents()
	w.settleRequests()
	for _, c := range w.cohorts {
		c.missing, c.first = w.missing(c)
	}
	return w
}

// cohortOf returns the cohort of a node; nil unless the node is rising and in demand.
func (w *wanted) cohortOf(m *scene.Node) *cohort { return w.of[m.At] }
