package rules

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/demand"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// WaitEnd is when a claim's wait for capacity ends, which limit ends it, and what happens to its
// job then.
type WaitEnd struct {
	At   time.Time // zero: it may wait forever
	By   demand.Limiter
	what string // the limit, as its owner or the admin set it
	Then action.Then
}

// EndOfWait returns the earliest of three times:
//   - the end of provision_timeout, which counts only while a request is live or refused
//   - the end of the job owner's wait limit, which counts from the job's allocation, whatever
//     delays the job
//   - the last moment at which the job can start and still end by its --deadline
//
// At that last moment, Slurm itself ends a job without nodes, but not a job that waits for its
// nodes.
func EndOfWait(w *demand.Wanted, c *demand.Claim) (end WaitEnd) {
	var own scene.JobLimits
	if c.Job != nil {
		own = scene.LimitsOf(w.Seen.Records[c.Job.ID])
	}
	limit := func(since time.Time, most time.Duration, by demand.Limiter, then action.Then) {
		if at := since.Add(most); most > 0 && !since.IsZero() && (end.At.IsZero() || at.Before(end.At)) {
			end = WaitEnd{at, by, slurm.Clock(most), then}
		}
	}
	sites := action.Then(c.Set.Flex.OnProvisionTimeout)
	limit(lacksSince(w, c), c.Set.Flex.ProvisionTimeout, demand.ByTimeout, sites)
	if sites != action.Requeue && hopesElsewhere(w, c, end.At) {
		end = WaitEnd{}
	}
	limit(waitsSinceFirst(c), own.Wait, demand.ByComment, cmp.Or(action.Then(own.Then), onOwnersWait(sites)))
	if own.Deadline.IsZero() || c.Job == nil {
		return end
	}
	last := own.Deadline.Add(-cmp.Or(own.MinTime, c.Job.Limit.Duration))
	if end.At.IsZero() || last.Before(end.At) {
		end = WaitEnd{last, demand.ByDeadline, own.Deadline.UTC().Format(time.RFC3339), action.Requeue}
		if w.WouldEnd(c.Holders) {
			end.Then = action.Cancel // as Slurm does at the deadline
		}
	}
	return end
}

// hopesElsewhere reports whether the claim's job also waits at another door where
// provision_timeout will not have ended the wait by that time.
func hopesElsewhere(w *demand.Wanted, c *demand.Claim, at time.Time) bool {
	if c.Door == nil {
		return false
	}
	return slices.ContainsFunc(c.Door.Rivals, func(d *scene.Door) bool {
		other := claimBehind(w, d)
		if other == nil || other.Set.Flex.ProvisionTimeout == 0 {
			return true
		}
		since := lacksSince(w, other)
		return since.IsZero() || since.Add(other.Set.Flex.ProvisionTimeout).After(at)
	})
}

// claimBehind returns the claim of the door's nodes; nil if all of them have their machines.
func claimBehind(w *demand.Wanted, d *scene.Door) *demand.Claim {
	for _, m := range w.NodesNamed(d.Nodes) {
		if w.ClaimOf(m) != nil {
			return w.ClaimOf(m)
		}
	}
	return nil
}

// waitsSinceFirst returns when the claim's job started to wait at the first of its doors.
func waitsSinceFirst(c *demand.Claim) time.Time {
	since := c.WaitsSince()
	if c.Door != nil {
		for _, d := range c.Door.Rivals {
			if d.At.Before(since) {
				since = d.At
			}
		}
	}
	return since
}

// onOwnersWait returns what happens to a job after a wait limit with no action set by its owner. It
// does not requeue the job: a requeued job would wait again for the same time, and would lose its
// queue position at Google each time.
func onOwnersWait(sites action.Then) action.Then {
	if sites == action.Requeue {
		return action.Hold
	}
	return sites
}

// waitedTooLong ends the claim's wait for capacity at its limit.
func waitedTooLong(w *demand.Wanted, c *demand.Claim) Ruling {
	end := EndOfWait(w, c)
	if end.At.IsZero() || !w.IsOld(end.At, 0) || w.Unseen(c.Set.Region) || unreadOf(w.Scene, c) != "" {
		return Ruling{}
	}
	stranger := stranger(w.Scene, c)
	if stranger == "" && w.AnyPresent(c.Nodes) {
		return Ruling{}
	}
	reason := lackedUntil(w, c, end)
	if trouble := lastAttempt(w.Scene, c); trouble.Message != "" && trouble.Brief() != lacked(w, c) {
		reason += "; last attempt: " + trouble.Brief()
	}
	if stranger != "" {
		reason = fmt.Sprintf("%s (%s %s)", stranger, end.By, end.what)
	}
	return giveUp(w, c, end.Then, end.Then == action.Cancel || end.By == demand.ByDeadline, "provision-timeout", reason)
}

// lackedUntil describes what the claim lacked until its wait ended, and for how long. It states
// only what is certain: if slurmflex did not request machines for the whole time, the text does not
// blame capacity.
func lackedUntil(w *demand.Wanted, c *demand.Claim, end WaitEnd) string {
	lacked, waited := lacked(w, c), c.Asked.For
	if since := c.WaitsSince(); end.By == demand.ByComment && since.Before(w.Seen.Now.Add(-waited-TellAfter)) {
		lacked, waited = "no machines", w.Seen.Now.Sub(since)
	}
	text := fmt.Sprintf("%s for %d × %s", lacked, len(c.Nodes), w.MachineType(c.Set))
	if waited > 0 {
		text += " in " + scene.Roughly(waited)
	}
	return text + fmt.Sprintf(" (%s %s)", end.By, end.what)
}

// lacked returns what the claim lacks: capacity while a request is live or after a refusal for
// lack of capacity or quota, and machines otherwise.
func lacked(w *demand.Wanted, c *demand.Claim) string {
	_, trouble, _ := c.Failures(w.Scene)
	if c.Live != nil || trouble.Cause == mig.CauseCapacity || trouble.Cause == mig.CauseQuota {
		return "no capacity"
	}
	return "no machines"
}

// lastAttempt returns why the claim's live request, or its last attempt, has created no machines.
func lastAttempt(s *scene.Scene, c *demand.Claim) mig.Trouble {
	if c.Live != nil {
		return c.Live.Request.Trouble
	}
	_, trouble, _ := c.Failures(s)
	return trouble
}

// TellAfter is how long a request waits before slurmflex writes the wait to its nodes. Most waits
// end sooner and so cause no load on slurmctld.
const TellAfter = time.Minute
