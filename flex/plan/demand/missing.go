package demand

import (
	"slices"
	"time"

	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
)

// missing returns the claim's nodes that have neither an instance nor a request, and what must
// happen before they can be requested. While an old instance or request of the same name is in the
// way, missing returns no nodes: they are all requested together afterwards.
func (w *Wanted) missing(c *Claim) (missing, first []string) {
	if of := w.Group(c.ID()); of.Usable != nil && of.Creates {
		return nil, []string{"the request of " + c.Group + " to show"}
	}
	if c.Door != nil && w.Handed.Inherits(c.Door.Job) {
		return nil, []string{"job " + c.Door.Address + " to use machines that another job has left"}
	}
	for _, name := range c.Nodes {
		stays, leaves := w.Named(name).Stays()
		switch {
		case stays && !w.Named(name).HasMachine():
			first = append(first, "the instance of "+name+" to show who made it")
			continue
		case stays:
			continue
		case leaves:
			return nil, append(first, "the old instance of "+name+" to be gone")
		case c.Live != nil && c.Live.Request.Names(name):
			continue
		case len(w.Named(name).Requests) > 0:
			return nil, append(first, "another request for "+name+" to end")
		case w.Named(name).MayShow || w.Seen.Inserted[name]:
			return nil, append(first, "the instance of "+name+" to show")
		}
		missing = append(missing, name)
	}
	if len(missing) > 0 && c.Set.Flex.UseBulkInsert && w.isAppearing(c) {
		return nil, append(first, "the instance of "+missing[0]+" to show")
	}
	return missing, first
}

// partsLag is how long the lists may show only a part of the instances of a bulk insert.
const partsLag = 2 * time.Minute

// isAppearing reports whether some of the instances that were inserted for the claim are so young
// that the lists may not show the others yet.
func (w *Wanted) isAppearing(c *Claim) bool {
	return slices.ContainsFunc(c.Inserted(w.Scene), func(in scene.Machine) bool { return !w.IsOld(in.Created, partsLag) })
}

// Inserted returns the machines that bulk inserts have made for the claim, also on nodes of its job
// that have registered.
func (c *Claim) Inserted(s *scene.Scene) (made []scene.Machine) {
	nodes := c.Nodes
	if c.Job != nil {
		nodes = c.Job.Nodes
	}
	for _, name := range nodes {
		for _, in := range s.Named(name).Machines {
			if in.Group == "" && in.Stamp == c.Stamp && !in.Leaving() {
				made = append(made, in)
			}
		}
	}
	return made
}

// countsLost reports whether the group reports an instance as lost and still counts it. Compute
// keeps the slot of a lost instance and accepts no other instance of that name into the group. In a
// shared group, only the claim's own instance matters.
func countsLost(s *scene.Scene, g *mig.Group, c *Claim) bool {
	of := s.Group(g.ID())
	return of.Hidden > 0 && !of.Creates && slices.ContainsFunc(of.Members, func(m mig.Member) bool {
		return m.Lost() && (!c.Shares() || slices.Contains(c.Nodes, m.Name))
	})
}
