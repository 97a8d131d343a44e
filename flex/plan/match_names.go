package plan

import (
	"slices"
	"strings"

	"slurmflex/flex/plan/memo"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
)

// place is the name of the first group for a cohort that neither counts a lost instance nor is
// another job's or made by a configuration that has changed since: its own, or that
// with -r1, -r2 and so on. A group that is shared takes any node whose instance it has
// not lost.
func place(s *scene.Scene, c *cohort) string {
	place := c.group
	for again := 1; ; again++ {
		g := s.Group(mig.GroupID{Region: c.set.Region, Name: place})
		if g == nil || !countsLost(s, g, c) && g.Stamp.Job == c.stamp.Job && g.Stamp.Array == c.stamp.Array && isOf(s, g, c) {
			return place
		}
		place = memo.Replacement(c.group, again)
	}
}

// isOf reports whether the group is as the configuration would make it now, as far as
// that is known, or still has a request: a group keeps its template, zones and policy
// for good. One that is shared may have requests as long as its array has tasks: new ones
// get another.
func isOf(s *scene.Scene, g *mig.Group, c *cohort) bool {
	if g.Stamp.Array == 0 && (len(g.Live()) > 0 || s.Creates(g)) {
		return true
	}
	link := s.Seen.Templates[c.set.Template].Link
	return (g.Template == "" || link == "" || strings.HasSuffix(link, "/"+g.Template)) &&
		(g.Zones == nil || slices.Equal(g.Zones, slices.Sorted(slices.Values(c.zones)))) &&
		(g.Policy == "" || c.set.Placement && (c.policy == "" || g.Policy == c.policy))
}
