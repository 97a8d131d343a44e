package plan

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// waitEnd is when a cohort's wait for capacity ends, which limit ends it, and what happens to its
// job then.
type waitEnd struct {
	at   time.Time // zero: it may wait forever
	by   Limiter
	what string // the limit, as its owner or the admin set it
	then action.Then
}

// endOfWait returns the earliest of three times:
//   - the end of provision_timeout, which counts only while a request is live or refused
//   - the end of the job owner's wait limit, which counts from the job's allocation, whatever
//     delays the job
//   - the last moment at which the job can start and still end by its --deadline
//
// At that last moment, Slurm itself ends a job without nodes, but not a job that waits for its
// nodes.
func endOfWait(w *wanted, c *cohort) (end waitEnd) {
	var own scene.JobLimits
	if c.job != nil {
		own = w.scene.Seen.Limits[c.job.ID]
	}
	limit := func(since time.Time, most time.Duration, by Limiter, then action.Then) {
		if at := since.Add(most); most > 0 && !since.IsZero() && (end.at.IsZero() || at.Before(end.at)) {
			end = waitEnd{at, by, slurm.Clock(most), then}
		}
	}
	sites := action.Then(c.set.Flex.OnProvisionTimeout)
	limit(lacksSince(w, c), c.set.Flex.ProvisionTimeout, ByTimeout, sites)
	if sites != action.Requeue && hopesElsewhere(w, c, end.at) {
		end = waitEnd{}
	}
	limit(waitsSinceFirst(w, c), own.Wait, ByComment, cmp.Or(action.Then(own.Then), onOwnersWait(sites)))
	if own.Deadline.IsZero() || c.job == nil {
		return end
	}
	last := own.Deadline.Add(-cmp.Or(own.MinTime, c.job.Limit.Duration))
	if end.at.IsZero() || last.Before(end.at) {
		end = waitEnd{last, ByDeadline, own.Deadline.UTC().Format(time.RFC3339), action.Requeue}
		if keeps(w.scene, c) {
			end.then = action.Cancel // as Slurm does at the deadline
		}
	}
	return end
}

// hopesElsewhere reports whether the cohort's job also waits at another door where
// provision_timeout will not have ended the wait by that time.
func hopesElsewhere(w *wanted, c *cohort, at time.Time) bool {
	if c.door == nil {
		return false
	}
	return slices.ContainsFunc(c.door.Rivals, func(d *scene.Door) bool {
		other := cohortBehind(w, d)
		if other == nil || other.set.Flex.ProvisionTimeout == 0 {
			return true
		}
		since := lacksSince(w, other)
		return since.IsZero() || since.Add(other.set.Flex.ProvisionTimeout).After(at)
	})
}

// cohortBehind returns the cohort of the door's nodes; nil if all of them have their machines.
func cohortBehind(w *wanted, d *scene.Door) *cohort {
	for _, name := range d.Nodes {
		if m := w.scene.Node(name); m != nil && w.cohortOf(m) != nil {
			return w.cohortOf(m)
		}
	}
	return nil
}

// waitsSinceFirst returns when the cohort's job started to wait at the first of its doors.
func waitsSinceFirst(w *wanted, c *cohort) time.Time {
	since := waitsSince(c)
	if c.door != nil {
		for _, d := range c.door.Rivals {
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

// waitedTooLong ends the cohort's wait for capacity at its limit.
func waitedTooLong(w *wanted, c *cohort) verdict {
	end := endOfWait(w, c)
	if end.at.IsZero() || !w.scene.IsOld(end.at, 0) || w.scene.Unseen(c.set.Region) || unreadOf(w.scene, c) != "" {
		return verdict{}
	}
	stranger := stranger(w.scene, c)
	if stranger == "" && anyPresent(w.scene, c.nodes) {
		return verdict{}
	}
	reason := lackedUntil(w, c, end)
	if trouble := lastAttempt(w.scene, c); trouble.Message != "" && trouble.Brief() != lacked(w, c) {
		reason += "; last attempt: " + trouble.Brief()
	}
	if stranger != "" {
		reason = fmt.Sprintf("%s (%s %s)", stranger, end.by, end.what)
	}
	return giveUp(w, c, end.then, end.then == action.Cancel || end.by == ByDeadline, "provision-timeout", reason)
}

// lackedUntil describes what the cohort lacked until its wait ended, and for how long. It states
// only what is certain: if slurmflex did not request machines for the whole time, the text does not
// blame capacity.
func lackedUntil(w *wanted, c *cohort, end waitEnd) string {
	lacked, waited := lacked(w, c), c.asked.For
	if since := waitsSince(c); end.by == ByComment && since.Before(w.scene.Seen.Now.Add(-waited-tellAfter)) {
		lacked, waited = "no machines", w.scene.Seen.Now.Sub(since)
	}
	text := fmt.Sprintf("%s for %d × %s", lacked, len(c.nodes), w.scene.MachineType(c.set))
	if waited > 0 {
		text += " in " + scene.Roughly(waited)
	}
	return text + fmt.Sprintf(" (%s %s)", end.by, end.what)
}

// lacked returns what the cohort lacks: capacity while a request is live or after a refusal for
// lack of capacity or quota, and machines otherwise.
func lacked(w *wanted, c *cohort) string {
	_, trouble, _ := failures(w.scene, c, w.scene.Group(c.id()))
	if c.live != nil || trouble.Cause == mig.CauseCapacity || trouble.Cause == mig.CauseQuota {
		return "no capacity"
	}
	return "no machines"
}

// lastAttempt returns why the cohort's live request, or its last attempt, has created no machines.
func lastAttempt(s *scene.Scene, c *cohort) mig.Trouble {
	if c.live != nil {
		return c.live.Request.Trouble()
	}
	_, trouble, _ := failures(s, c, s.Group(c.id()))
	return trouble
}

// tellAfter is how long a request waits before slurmflex writes the wait to its nodes. Most waits
// end sooner and so cause no load on slurmctld.
const tellAfter = time.Minute
