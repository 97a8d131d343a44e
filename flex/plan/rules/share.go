package rules

import (
	"maps"
	"slices"
	"time"

	"slurmflex/flex/plan/demand"
	"slurmflex/mig"
)

// needs is what jobs must have in common to share a request: the array or user, the nodeset and the
// configuration, which the group stands for, and the lease. A job's second or later door shares no
// request with first doors: the job may start elsewhere, and more machines are harder to get.
type needs struct {
	group   mig.GroupID
	lease   time.Duration
	further bool
}

func needsOf(c *demand.Claim) needs { return needs{c.ID(), c.Lease, c.Place() > 0} }

// isFirst reports whether the claim's request, which is still being created, has not been counted
// yet.
func (t *turns) isFirst(c *demand.Claim) bool {
	if !c.Shares() {
		return true
	}
	counted := t.pending[needsOf(c)]
	t.pending[needsOf(c)] = true
	return !counted
}

// countLack counts the jobs that lack a request. Those that get a door in a later pass count too, so
// that the doors of the first pass do not take all places.
func (t *turns) countLack(verdicts []Verdict) {
	t.active = t.now.clone()
	maps.Copy(t.lack, t.Handed.Later)
	for i := range verdicts {
		v := &verdicts[i]
		if c := v.Claim; v.Do == Requests && !v.Gone && c.Place() == 0 && !c.Set.Flex.UseBulkInsert {
			t.lack[demand.UserIn{Region: c.Set.Region}]++
			if user := userOf(c); user.Name != "" {
				t.lack[user]++
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
	options, region, user := t.Config.Options, demand.UserIn{Region: c.Set.Region}, userOf(c)
	size := perPlace(t.lack[region], options.MaxActiveRequests-t.active.inRegion[c.Set.Region])
	if options.MaxActivePerUser > 0 {
		size = max(size, perPlace(t.lack[user], options.MaxActivePerUser-t.active.ofUser[user]))
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
	if first := t.open[needsOf(c)]; first != nil && !t.overtakes(c) {
		first.With, v.Joins = append(first.With, c), true
		if len(first.With)+1 >= t.size(c) {
			delete(t.open, needsOf(c))
		}
		return
	}
	if t.begun[c.ID()] {
		v.Do, v.Quiet, v.Why, v.Soon = Waits, true, "waiting for group "+c.Group+" to be made", true
		return
	}
	if t.turn(v); v.Do != Requests {
		return
	}
	if t.Group(c.ID()).Usable == nil {
		t.begun[c.ID()] = true
	}
	if t.size(c) > 1 {
		t.open[needsOf(c)] = v
	}
}

// overtakes reports whether a more important job of another user waits for a place in the claim's
// region. A job that joined a request now would be ahead of that job in Google's queue.
func (t *turns) overtakes(c *demand.Claim) bool {
	return slices.ContainsFunc(t.line(c.Set.Region).users, func(user string) bool { return user != userOf(c).Name })
}
