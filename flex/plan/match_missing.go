package plan

import (
	"slices"

	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
)

// missing returns the cohort's nodes that neither have an instance nor are requested,
// and what has to come first. There are none while an old instance or request of the
// same name is still in the way: they are requested together once it has gone.
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

// countsLost reports whether the group says that it has lost an instance that it
// counts still. Compute keeps the place of a lost instance, and takes no other of
// that name into the group. Of one that is shared, the cohort's alone matters.
func countsLost(s *scene.Scene, g *mig.Group, c *cohort) bool {
	members, creating := s.Hidden(g)
	all, _ := s.MembersOf(g)
	return members > 0 && !creating && slices.ContainsFunc(all, func(m mig.Member) bool {
		return m.Lost() && (!c.shares() || slices.Contains(c.nodes, m.Name))
	})
}
