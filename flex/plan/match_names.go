package plan

import (
	"slices"
	"strings"

	"slurmflex/config"
	"slurmflex/flex/plan/memo"
	"slurmflex/mig"
)

// place is the name of the first group for a cohort that neither counts a lost instance nor is
// another job's or made by a configuration that has changed since: name, or
// name-r1, name-r2 and so on.
func (s *scene) place(set *config.NodeSet, name string, stamp mig.Stamp) string {
	place := name
	for again := 1; ; again++ {
		g := s.groups[mig.GroupID{Region: set.Region, Name: place}]
		if g == nil || !s.countsLost(g) && g.Stamp.Job == stamp.Job && s.isOf(g, set) {
			return place
		}
		place = memo.Replacement(name, again)
	}
}

// isOf reports whether the group is as the configuration would make it now, as far as
// that is known, or still has a request: a group keeps its template, zones and policy
// for good.
func (s *scene) isOf(g *mig.Group, set *config.NodeSet) bool {
	if len(g.Live()) > 0 || s.isAhead(g) {
		return true
	}
	link := s.snap.Templates[set.Template].Link
	return (g.Template == "" || link == "" || strings.HasSuffix(link, "/"+g.Template)) &&
		(g.Zones == nil || slices.Equal(g.Zones, slices.Sorted(slices.Values(set.Zones)))) &&
		(g.Policy == "" || set.Placement)
}
