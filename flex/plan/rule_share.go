package plan

import (
	"time"

	"slurmflex/mig"
)

// sharing records the requests of this plan that other tasks of an array may still join.
type sharing struct {
	open map[needs]*verdict // by needs: the last request that has room for more tasks
	// By group: the first request in a group that this plan creates.
	begun   map[mig.GroupID]*verdict
	pending map[needs]bool // the needs of requests that an earlier pass is still creating
}

// needs is what tasks must have in common to share a request: the array, nodeset and configuration,
// which the group stands for, and the lease.
type needs struct {
	group mig.GroupID
	lease time.Duration
}

func newSharing() sharing {
	return sharing{map[needs]*verdict{}, map[mig.GroupID]*verdict{}, map[needs]bool{}}
}

func (c *cohort) needs() needs { return needs{c.id(), c.lease} }

// isFirst reports whether the cohort's request, which is still being created, has not been counted
// yet.
func (s sharing) isFirst(c *cohort) bool {
	if !c.shares() {
		return true
	}
	counted := s.pending[c.needs()]
	s.pending[c.needs()] = true
	return !counted
}

// share lets the cohort join a request of this plan for the same needs, up to share_requests. If
// none exists, share makes a new request if there is a free place. While the cohort's group is
// being created, share makes only the first request in it: further requests would have to wait for
// the first, and the next pass can make them without that wait.
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
