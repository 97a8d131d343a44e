package demand

import (
	"time"

	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
)

// Failures returns the number of consecutive failed attempts for the claim, and the cause and time
// of the last one. It counts the recorded requests or the refusals that this process knows,
// whichever are more: Compute may or may not record a refusal. Compute does not record when a
// request ended, so the creation time is used: a request that waited for hours is retried
// immediately.
func (c *Claim) Failures(s *scene.Scene) (n int, trouble mig.Trouble, last time.Time) {
	group := s.Group(c.ID()).Usable
	requests := c.RequestsOf(group)
	for i := len(requests) - 1; i >= 0 && requests[i].State == mig.Failed; i-- {
		if r := requests[i]; n == 0 {
			trouble, last = r.Trouble, r.Created
		}
		n++
	}
	r := c.Refusal(s)
	if r.Times > 0 && r.At.After(last) && (r.Cause != mig.CauseExists || group == nil) {
		trouble, last = r.Trouble, r.At
		n = max(n, r.Times)
	}
	return n, trouble, last
}

// Refusal returns Compute's last refusal to create the claim's group, or for a shared group, the
// request for the claim's node.
func (c *Claim) Refusal(s *scene.Scene) scene.Refusal {
	last := s.Seen.Refused[c.Group]
	if own := s.Seen.Refused[c.Outcome(c.Group)]; own.Last().After(last.Last()) {
		return own
	}
	return last
}
