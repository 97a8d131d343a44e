package chaos

import (
	"fmt"
	"time"

	"slurmflex/test/fakegce"
)

// untruth is what a list says, and what is not so.
type untruth string

// What a list may say.
const (
	namedTwice  untruth = "names what is on its last page twice"
	noLastPage  untruth = "has a next page always"
	pagesInRing untruth = "has pages that follow each other in a ring"
	noCreation  untruth = "has times of creation that are none"
	leftOut     untruth = "leaves something out"
	ofNobody    untruth = "says of no group that it made the machines"
	ofAnother   untruth = "says of another group that it made the machines"
	endless     untruth = "has leases end in the year 9999"
	overdue     untruth = "has leases that ended in 1970"
)

// anyList are the untruths that any list may tell; the others are about machines.
func anyList() []untruth {
	return []untruth{namedTwice, namedTwice, noLastPage, pagesInRing, noCreation}
}

// lie has one of Compute's lists say what is not so, for a while. It is about the
// records that have of in their names; about all if it is empty.
func lie(method string, what untruth, of string, lasts time.Duration) event {
	text := fmt.Sprintf("%s %s (%q), for %v", method, what, of, lasts)
	f := fakegce.Fault{Method: method}
	broken := func(field string, value any) { f.Broken = &fakegce.Broken{Name: of, Field: field, Value: value} }
	leases := func(end string) {
		broken("resourceStatus", map[string]any{"scheduling": map[string]any{"terminationTimestamp": end}})
	}
	switch what {
	case namedTwice:
		f.Doubled = true
	case noLastPage:
		f.Endless = fakegce.AlwaysNew
	case pagesInRing:
		f.Endless = fakegce.Alternating
	case noCreation:
		broken("creationTimestamp", "yesterday")
	case leftOut:
		f.Omitted = of
	case ofNobody:
		broken("metadata", nil)
	case ofAnother:
		const group = "projects/1/regions/us-central1/instanceGroupManagers/alpha-gang-job-900004"
		broken("metadata", map[string]any{"items": []any{map[string]any{"key": "created-by", "value": group}}})
	case endless:
		leases("9999-12-31T23:59:59Z")
	case overdue:
		leases("1970-01-01T00:00:00Z")
	}
	return happening{text, func(w *world, no int) { w.arm(no, lasts, f) }}
}

// randomLie is a lie of any kind. A list leaves machines out for a pass or some:
// for longer than they lag Compute's do not.
func (d dice) randomLie(i int, node string, lasts func(least, most int) time.Duration) event {
	const machines = "instances.aggregatedList"
	method := pick(d, append(lists(), machines, machines), "list of lies", i)
	of, takes := pick(d, []string{"", node}, "of", i), lasts(1, 15)
	what := pick(d, anyList(), "untruth", i)
	if method == machines {
		what = pick(d, append(anyList(), leftOut, leftOut, ofNobody, ofNobody, ofAnother, endless, overdue), "untruth", i)
	}
	if what == leftOut {
		of, takes = node, d.span(5*time.Second, 90*time.Second, "left out", i).Truncate(time.Second)
	}
	return lie(method, what, of, takes)
}
