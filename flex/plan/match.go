package plan

import (
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
)

// wanted is a scene, and who wants its nodes: the cohorts, and which of them each live
// request serves. It does not change once it is made.
type wanted struct {
	scene   *scene.Scene
	cohorts []*cohort            // by rank
	of      []*cohort            // by node, in the order of the scene's nodes; nil: not wanted, or not rising
	groupOf map[mig.GroupID]bool // the groups of the cohorts
	settled []settled            // every live request

	incomplete map[uint32]bool          // heterogeneous jobs with a later component that waits for a machine
	survivors  map[uint32][]*scene.Node // running jobs that have lost machines, and the nodes whose machines they keep
	short      map[uint32]bool          // jobs that have lost machines and keep none, because of their time limits
	handed     handout                  // what jobs that wait pending get
	torn       map[*cohort]string       // gangs that have waited too long for their other nodes, and how they stand
}

// match puts every rising node that somebody wants into its cohort, and gives each
// live request to the cohort that it serves.
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
	w.refreshOldest()
	for _, c := range w.cohorts {
		c.asked = w.askedFor(c)
	}
	w.torn = w.tornGangs()
	return w
}

// cohortOf is the cohort of a node; nil unless it is wanted and rising.
func (w *wanted) cohortOf(m *scene.Node) *cohort { return w.of[m.At] }
