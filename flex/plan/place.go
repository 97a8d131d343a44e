package plan

import (
	"slices"
	"strconv"
	"strings"

	"slurmflex/config"
	"slurmflex/mig"
)

// placeMark stands before the number of a group that takes another's place.
const placeMark = "-r"

// place is the name of the first group for a cohort that is neither haunted nor
// another job's nor made by a configuration that has changed since: name, or
// name-r1, name-r2 and so on.
func (w *world) place(set *config.NodeSet, name string, stamp mig.Stamp) string {
	place := name
	for again := 1; ; again++ {
		g := w.groups[set.Region+"/"+place]
		if g == nil || !w.haunted(g) && g.Stamp.Job == stamp.Job && w.isOf(g, set) {
			return place
		}
		place = name + placeMark + strconv.Itoa(again)
	}
}

// isOf reports whether the group is as the configuration would make it now, as far as
// that is known, or still has a request: a group keeps its template, zones and policy
// for good.
func (w *world) isOf(g *mig.Group, set *config.NodeSet) bool {
	if len(g.Live()) > 0 || w.isAhead(g) {
		return true
	}
	link := w.snap.Templates[set.Template].Link
	return (g.Template == "" || link == "" || strings.HasSuffix(link, "/"+g.Template)) &&
		(g.Zones == nil || slices.Equal(g.Zones, slices.Sorted(slices.Values(set.Zones)))) &&
		(g.Policy == "" || set.Placement)
}

// unplaced is the name for which place has given this one.
func unplaced(place string) string {
	if at := strings.LastIndex(place, placeMark); at >= 0 {
		if _, err := strconv.ParseUint(place[at+len(placeMark):], 10, 0); err == nil {
			return place[:at]
		}
	}
	return place
}
