package plan

import (
	"slices"

	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
)

// missing returns the cohort's nodes that have neither an instance nor a request, and what must
// happen before they can be requested. While an old instance or request of the same name is in the
// way, missing returns no nodes: they are all requested together afterwards.
func (w *wanted) missing(c *cohort) (missing, first []string) {
	if g := w.scene.Group(c.id()); g != nil && w.scene.Creates(g) {
		return nil, []string{"the request of " + c.group + " to show"}
	}
	for _, name := range c.nodes {
		stays, leaves := w.scene.Stays(name)
		switch {
		case stays && !w.scene.HasMachine(name):
			first = append(first, "the instance of "+name+" to show who made it")
			continue
		case stays:
			continue
		case leaves:
			return nil, append(first, "the old instance of "+name+" to be gone")
		case c.live != nil && c.live.Request.Names(name):
			continue
		case len(w.scene.RequestsOf(name)) > 0:
			return nil, append(first, "another request for "+name+" to end")
		case w.scene.MayShow(name) || w.scene.Seen.Inserted[name]:
			return nil, append(first, "the instance of "+name+" to show")
		}
		missing = append(missing, name)
	}
	return missing, first
}

// countsLost reports whether the group reports an instance as lost and still counts it. Compute
// keeps the slot of a lost instance and accepts no other instance of that name into the group. In a
// shared group, only the cohort's own instance matters.
func countsLost(s *scene.Scene, g *mig.Group, c *cohort) bool {
	members, creating := s.Hidden(g)
	all, _ := s.MembersOf(g)
	return members > 0 && !creating && slices.ContainsFunc(all, func(m mig.Member) bool {
		return m.Lost() && (!c.shares() || slices.Contains(c.nodes, m.Name))
	})
}
