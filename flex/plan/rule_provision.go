package plan

import (
	"cmp"
	"fmt"
	"time"
)

// Limiter is what ends a wait, as those know it who have set it.
type Limiter string

// What may end a wait.
const (
	ByTimeout  Limiter = "provision_timeout" // of the nodeset
	ByComment  Limiter = "slurmflex:wait"    // in the job's --comment
	ByDeadline Limiter = "--deadline"        // of the job
	ByFallback Limiter = "fallback_after"    // of the nodeset: the job moves to other partitions of its list
)

// waitEnd is when a cohort's wait for capacity ends, what ends it, and what becomes of
// its job then.
type waitEnd struct {
	at   time.Time // zero: it may wait for ever
	by   Limiter
	what string // the limit, as its owner or the admin set it
	then Then
}

// endOfWait is the earliest of provision_timeout, or the shorter wait that the job's
// owner asks for, and of the last moment at which the job can start and end by its
// --deadline. Slurm itself ends a job then that has no nodes, and none that waits for
// them.
func (w *wanted) endOfWait(c *cohort) (end waitEnd) {
	limit, by, what := c.set.Flex.ProvisionTimeout, ByTimeout, clock(c.set.Flex.ProvisionTimeout)
	var own JobLimits
	if c.job != nil {
		own = w.snap.Limits[c.job.ID]
	}
	if own.Wait > 0 && (limit == 0 || own.Wait < limit) {
		limit, by, what = own.Wait, ByComment, clock(own.Wait)
	}
	if since := w.lacksSince(c); limit > 0 && !since.IsZero() {
		end = waitEnd{since.Add(limit), by, what, Then(c.set.Flex.OnProvisionTimeout)}
		if to, again := w.wayOut(c); len(to) > 0 && !again {
			end.then = Requeue // it moves on
		}
	}
	if own.Deadline.IsZero() || c.job == nil {
		return end
	}
	last := own.Deadline.Add(-cmp.Or(own.MinTime, c.job.Limit.Duration))
	if end.at.IsZero() || last.Before(end.at) {
		end = waitEnd{last, ByDeadline, own.Deadline.UTC().Format(time.RFC3339), Requeue}
	}
	return end
}

// waitedTooLong gives a cohort up whose wait for capacity has come to its end.
func waitedTooLong(w *wanted, c *cohort) verdict {
	end := w.endOfWait(c)
	if end.at.IsZero() || !w.isOld(end.at, 0) || w.unseen(c.set.Region) || w.unreadOf(c) != "" {
		return verdict{}
	}
	stranger := w.stranger(c)
	if stranger == "" && w.anyPresent(c.nodes) {
		return verdict{}
	}
	reason := fmt.Sprintf("no capacity for %d × %s", len(c.nodes), w.machineType(c.set))
	if since := w.lacksSince(c); !since.IsZero() {
		reason += " in " + roughly(w.snap.Now.Sub(since))
	}
	reason += fmt.Sprintf(" (%s %s)", end.by, end.what)
	if message := w.lastAttempt(c); message != "" {
		reason += "; last attempt: " + message
	}
	if stranger != "" {
		reason = fmt.Sprintf("%s (%s %s)", stranger, end.by, end.what)
	}
	if end.then == Requeue && end.by != ByDeadline {
		return w.moveOrGiveUp(c, Requeue, false, "provision-timeout", reason)
	}
	return w.giveUp(c, end.then, end.then == Cancel || end.by == ByDeadline, "provision-timeout", reason)
}

// lastAttempt is what the cloud said last about the cohort.
func (s *scene) lastAttempt(c *cohort) string {
	if c.live != nil {
		return c.live.request.Message
	}
	_, _, message, _ := s.failures(c, s.groups[c.id()])
	return message
}
