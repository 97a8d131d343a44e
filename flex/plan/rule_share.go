package plan

import (
	"time"

	"slurmflex/mig"
)

// sharing is what the requests of this plan have in common: which of them tasks of an
// array may still join.
type sharing struct {
	open    map[needs]*verdict       // the last request for such needs, while there is room in it
	begun   map[mig.GroupID]*verdict // the first request in a group that this plan makes
	pending map[needs]bool           // requests that an earlier pass is about to make
}

// needs are what tasks must have in common to be in one request: the array, nodeset and
// configuration, for which the group stands, and the lease.
type needs struct {
	group mig.GroupID
	lease time.Duration
}

func newSharing() sharing {
	return sharing{map[needs]*verdict{}, map[mig.GroupID]*verdict{}, map[needs]bool{}}
}

func (c *cohort) needs() needs { return needs{c.id(), c.lease} }

// isFirst reports whether a request that is about to be made for the cohort is not
// counted yet.
func (s sharing) isFirst(c *cohort) bool {
	if !c.shares() {
		return true
	}
	counted := s.pending[c.needs()]
	s.pending[c.needs()] = true
	return !counted
}

// share has the cohort join a request of this plan for the same needs, up to
// share_requests, or makes one of its own if there is room for it. While its group
// is being made, only the first request comes with it: others would wait behind that one,
// and in the next pass do not.
func (t *turns) share(v *verdict) {
	c := v.cohort
	if first := t.shared.open[c.needs()]; first != nil {
		first.with, v.joins = append(first.with, c), true
		if len(first.with)+1 >= c.set.Flex.ShareRequests {
			delete(t.shared.open, c.needs())
		}
		return
	}
	if t.shared.begun[c.id()] != nil {
		what := "group " + c.group + " to be made"
		v.do, v.quiet, v.why, v.expect = waits, true, "waiting for "+what, append(v.expect, what)
		return
	}
	if t.turn(v); v.do != requests {
		return
	}
	if t.scene.Group(c.id()) == nil {
		t.shared.begun[c.id()] = v
	}
	if c.set.Flex.ShareRequests > 1 {
		t.shared.open[c.needs()] = v
	}
}
