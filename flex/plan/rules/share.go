package rules

import (
	"maps"
	"slices"
	"time"

	"slurmflex/flex/plan/demand"
	"slurmflex/mig"
)

// sharing records the requests of this plan that other jobs may still join.
type sharing struct {
	open map[needs]*Verdict // by needs: the last request that has room for more jobs
	// By group: the first request in a group that this plan creates.
	begun   map[mig.GroupID]*Verdict
	pending map[needs]bool // the needs of requests that an earlier pass is still creating

	// Before this plan's requests: the active requests, and the jobs that lack one. A user's jobs
	// count only where max_active_requests_per_user applies.
	active Places
	lack   map[demand.UserIn]int
	// By region: the users whose jobs wait for a place, most important job first.
	queue map[string][]string
}

// needs is what jobs must have in common to share a request: the array or user, the nodeset and the
// configuration, which the group stands for, and the lease. A job's second or later door shares no
// request with first doors: the job may start elsewhere, and more machines are harder to get.
type needs struct {
	group   mig.GroupID
	lease   time.Duration
	further bool
}

func newSharing() sharing {
	return sharing{
		open: map[needs]*Verdict{}, begun: map[mig.GroupID]*Verdict{}, pending: map[needs]bool{},
		lack: map[demand.UserIn]int{}, queue: map[string][]string{},
	}
}

func needsOf(c *demand.Claim) needs { return needs{c.ID(), c.Lease, c.Place() > 0} }

// isFirst reports whether the claim's request, which is still being created, has not been counted
// yet.
func (s sharing) isFirst(c *demand.Claim) bool {
	if !c.Shares() {
		return true
	}
	counted := s.pending[needsOf(c)]
	s.pending[needsOf(c)] = true
	return !counted
}

// countLack counts the jobs that lack a request. Those that get a door in a later pass count too, so
// that the doors of the first pass do not take all places.
func (t *turns) countLack(verdicts []Verdict) {
	t.shared.active = t.now.clone()
	maps.Copy(t.shared.lack, t.w.Handed.Later)
	for i := range verdicts {
		v := &verdicts[i]
		if c := v.Claim; v.Do == Requests && !v.Gone && c.Place() == 0 && !c.Set.Flex.UseBulkInsert {
			t.shared.lack[demand.UserIn{Region: c.Set.Region}]++
			if user := userOf(c); user.Name != "" {
				t.shared.lack[user]++
			}
		}
	}
}

// size returns how many jobs may share a request with the claim. Array tasks share up to
// share_requests. A request of several machines is granted as a whole, and so later: other jobs
// share no more than they must so that half of the free places are enough for all jobs that lack a
// request. The other half is left to the jobs of the next passes.
func (t *turns) size(c *demand.Claim) int {
	most := c.Set.Flex.ShareRequests
	if c.Stamp.User == "" {
		return most
	}
	options, region, user := t.w.Config.Options, demand.UserIn{Region: c.Set.Region}, userOf(c)
	size := perPlace(t.shared.lack[region], options.MaxActiveRequests-t.shared.active.inRegion[c.Set.Region])
	if options.MaxActivePerUser > 0 {
		size = max(size, perPlace(t.shared.lack[user], options.MaxActivePerUser-t.shared.active.ofUser[user]))
	}
	return min(size, most)
}

// perPlace returns how many jobs share a place if half of the free places are for all jobs.
func perPlace(jobs, free int) int {
	half := max(1, free/2)
	return (jobs + half - 1) / half
}

// share lets the claim join a request of this plan for the same needs. If none exists or has room,
// share makes a new request if there is a free place. While the claim's group is being created,
// share makes only the first request in it: further requests would have to wait for the first, and
// the next pass can make them without that wait.
func (t *turns) share(v *Verdict) {
	c := v.Claim
	if first := t.shared.open[needsOf(c)]; first != nil && !t.overtakes(c) {
		first.With, v.Joins = append(first.With, c), true
		if len(first.With)+1 >= t.size(c) {
			delete(t.shared.open, needsOf(c))
		}
		return
	}
	if t.shared.begun[c.ID()] != nil {
		what := "group " + c.Group + " to be made"
		v.Do, v.Quiet, v.Why, v.Expect = Waits, true, "waiting for "+what, append(v.Expect, what)
		return
	}
	if t.turn(v); v.Do != Requests {
		return
	}
	if t.w.Group(c.ID()) == nil {
		t.shared.begun[c.ID()] = v
	}
	if t.size(c) > 1 {
		t.shared.open[needsOf(c)] = v
	}
}

// noteWaiting records that a job of the user waits for a place in the region.
func (s sharing) noteWaiting(region, user string) {
	if !slices.Contains(s.queue[region], user) {
		s.queue[region] = append(s.queue[region], user)
	}
}

// overtakes reports whether a more important job of another user waits for a place in the claim's
// region. A job that joined a request now would be ahead of that job in Google's queue.
func (t *turns) overtakes(c *demand.Claim) bool {
	return slices.ContainsFunc(t.shared.queue[c.Set.Region], func(user string) bool { return user != userOf(c).Name })
}
