package plan

import (
	"cmp"
	"fmt"
	"slices"

	"slurmflex/mig"
)

// noteUnread names the groups and instances of which something could
// not be read, and notes the nodes that they may concern: what is unread is not
// absent, so nothing is requested for these nodes and nothing is taken from them.
func (w *world) noteUnread() {
	for _, in := range w.machines {
		if in.Unread != "" {
			w.unread[in.Name] = w.problem(fmt.Sprintf("instance %s in %s is left alone, because it cannot be read: %s", in.Name, in.Zone, in.Unread))
		}
	}
	groups := slices.Clone(w.snap.Groups)
	slices.SortFunc(groups, func(a, b mig.Group) int {
		return cmp.Or(cmp.Compare(a.Region, b.Region), cmp.Compare(a.Name, b.Name))
	})
	for _, g := range groups {
		if g.Unread == "" || g.Stamp.Newer() {
			continue
		}
		what := w.problem(fmt.Sprintf("group %s in %s is left alone, because it cannot be read: %s", g.Name, g.Region, g.Unread))
		w.unread[g.Region+"/"+g.Name] = what
		w.active[g.Region] += len(g.Live())
		for _, name := range w.concerns(g) {
			w.unread[name] = what
		}
	}
}

// concerns returns the nodes that a group of which not all is known may bring, or
// may have brought.
func (w *world) concerns(g mig.Group) []string {
	var names []string
	for _, r := range g.Requests {
		if r.State != mig.Failed && r.State != mig.Cancelled {
			names = append(names, r.Instances...)
		}
	}
	if g.Stamp.Node != "" {
		names = append(names, g.Stamp.Node)
	}
	for _, j := range w.snap.Jobs {
		if j.ID == g.Stamp.Job && holdsNodes(j.State) {
			names = append(names, j.Nodes...)
		}
	}
	return names
}

// isUnread reports whether something in the cloud that concerns the node could
// not be read or its whole region could not.
func (w *world) isUnread(m *member) bool { return w.unseen(m.set.Region) || w.unread[m.Name] != "" }

// unreadOf says what could not be read that concerns the cohort, leaving its
// region aside; empty if there is nothing.
func (w *world) unreadOf(c *cohort) string {
	for _, name := range c.nodes {
		if what := w.unread[name]; what != "" {
			return what
		}
	}
	return w.unread[c.set.Region+"/"+c.group]
}
