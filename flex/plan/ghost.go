package plan

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"slurmflex/config"
	"slurmflex/mig"
)

// lostAfter is how long ago a request must have been made before an instance that
// it has brought and that does not show is taken for lost. Lists of Compute may
// lag behind each other.
const lostAfter = 10 * time.Minute

// hidden counts the members of the group of which neither an instance nor a live
// request shows, and tells whether it is creating some that no live request asks
// for: then the list of requests lags behind.
func (w *world) hidden(g *mig.Group) (members int, creating bool) {
	asked := 0
	for _, r := range g.Live() {
		asked += len(r.Instances)
	}
	return g.TargetSize - w.inGroup[g.Region+"/"+g.Name] - asked, g.Creating > asked
}

// haunted reports whether the group counts instances that were lost behind its
// back. Compute keeps the place of a lost instance, and takes no other of that
// name into the group.
func (w *world) haunted(g *mig.Group) bool {
	members, creating := w.hidden(g)
	return members > 0 && !creating
}

// isAhead reports whether the group has a request that does not show yet.
func (w *world) isAhead(g *mig.Group) bool {
	members, creating := w.hidden(g)
	return members > 0 && creating
}

// mayShow reports whether an instance of that name has been brought a moment
// ago and may show soon.
func (w *world) mayShow(name string) bool {
	for _, r := range w.brought[name] {
		if w.haunted(r.group) {
			return true
		}
	}
	return false
}

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
	link := w.snap.Templates[set.Template].Link
	return len(g.Live()) > 0 || w.isAhead(g) || (g.Template == "" || link == "" || strings.HasSuffix(link, "/"+g.Template)) &&
		(g.Zones == nil || set.Zones == nil || slices.Equal(g.Zones, slices.Compact(slices.Sorted(slices.Values(set.Zones))))) &&
		(g.Policy == "" || set.Placement)
}

const placeMark = "-r"

// unplaced is the name for which place has given this one.
func unplaced(place string) string {
	if at := strings.LastIndex(place, placeMark); at >= 0 {
		if _, err := strconv.ParseUint(place[at+len(placeMark):], 10, 0); err == nil {
			return place[:at]
		}
	}
	return place
}
