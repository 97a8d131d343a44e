package demand

import (
	"slices"
	"strings"

	"slurmflex/flex/plan/memo"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
)

// place returns the first suitable group name for a claim: its own name, or that name with -r1,
// -r2 and so on. A group is unsuitable if it counts a lost instance, belongs to another job, or was
// created from an older configuration. A shared group accepts any node unless it has lost the
// node's instance.
func place(s *scene.Scene, c *Claim) string {
	place := c.Group
	for again := 1; ; again++ {
		g := s.Group(mig.GroupID{Region: c.Set.Region, Name: place}).Usable
		if g == nil || !countsLost(s, g, c) && g.Stamp.Job == c.Stamp.Job && g.Stamp.Array == c.Stamp.Array && g.Stamp.User == c.Stamp.User && isOf(s, g, c) {
			return place
		}
		place = memo.Replacement(c.Group, again)
	}
}

// isOf reports whether the group matches what the configuration would create now, as far as that is
// known, or still has a request. A group's template, zones and policy never change. A shared group
// may have requests for as long as its array or user has jobs, so new requests get another group after a
// change.
func isOf(s *scene.Scene, g *mig.Group, c *Claim) bool {
	if !g.Stamp.Shared() && (len(g.Live()) > 0 || s.Group(g.ID()).Creates) {
		return true
	}
	link := s.Seen.Templates[c.Set.Template].Link
	return (g.Template == "" || link == "" || strings.HasSuffix(link, "/"+g.Template)) &&
		(g.Zones == nil || slices.Equal(g.Zones, slices.Sorted(slices.Values(c.Zones)))) &&
		(g.Policy == "" || c.Set.Placement && (c.Policy == "" || g.Policy == c.Policy))
}
