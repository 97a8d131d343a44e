package plan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"slurmflex/config"
	"slurmflex/mig"
)

// jobGroup is the name of the group for a job's nodes of one nodeset. A job of
// more nodes than fit into one group has further parts, counted from 1.
func jobGroup(cluster, nodeset string, job uint32, part int) string {
	name := fmt.Sprintf("%s-%s-job-%d", cluster, nodeset, job)
	if part > 0 {
		name += "-p" + strconv.Itoa(part)
	}
	return name
}

// nodeGroup is the name of the group for one node that is obtained by itself.
func nodeGroup(cluster, nodeset string, index int) string {
	return fmt.Sprintf("%s-%s-node-%d", cluster, nodeset, index)
}

// nextAttempt names the request that follows those on record: a1, a2, …
// Compute keeps finished requests for 14 days, so no name comes twice while it
// matters; if the record is gone, so is the conflict.
func nextAttempt(requests []mig.Request) string {
	last := 0
	for _, r := range requests {
		if n, err := strconv.Atoi(strings.TrimPrefix(r.Name, "a")); err == nil {
			last = max(last, n)
		}
	}
	return "a" + strconv.Itoa(last+1)
}

// placeMark stands before the number of a group that takes another's place.
const placeMark = "-r"

// place is the name of the first group for a cohort that is neither haunted nor
// another job's nor made by a configuration that has changed since: name, or
// name-r1, name-r2 and so on.
func (s *scene) place(set *config.NodeSet, name string, stamp mig.Stamp) string {
	place := name
	for again := 1; ; again++ {
		g := s.groups[mig.GroupID{Region: set.Region, Name: place}]
		if g == nil || !s.haunted(g) && g.Stamp.Job == stamp.Job && s.isOf(g, set) {
			return place
		}
		place = name + placeMark + strconv.Itoa(again)
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

// unplaced is the name for which place has given this one.
func unplaced(place string) string {
	if at := strings.LastIndex(place, placeMark); at >= 0 {
		if _, err := strconv.ParseUint(place[at+len(placeMark):], 10, 0); err == nil {
			return place[:at]
		}
	}
	return place
}
