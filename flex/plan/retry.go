package plan

import (
	"fmt"
	"strings"
	"time"

	"slurmflex/mig"
)

// The wait before another attempt doubles from firstRetry to lastRetry.
const (
	firstRetry = 60 * time.Second
	lastRetry  = 1800 * time.Second
)

// retryAfter is the wait after so many failures in a row.
func retryAfter(failures int) time.Duration {
	wait := firstRetry
	for ; failures > 1 && wait < lastRetry; failures-- {
		wait *= 2
	}
	return min(wait, lastRetry)
}

// startedAfter reports whether the cohort's job was given its nodes after that
// time. A failure before it has had its consequence.
func (c *cohort) startedAfter(t time.Time) bool { return c.job != nil && c.job.Start.After(t) }

// mayAsk reports whether the cohort may ask the cloud now, judging by what came
// of its earlier attempts. Where no attempt can succeed its job is held; where
// max_attempts have failed it is requeued, once for each attempt that fails.
func (w *world) mayAsk(c *cohort, group *mig.Group) bool {
	failures, cause, message, last := w.failures(c, group)
	hopeless := cause == mig.CauseConfig || cause == mig.CausePermission || cause == mig.CauseNotFound
	unheld := hopeless && c.job != nil && !c.startedAfter(last) // its job is yet to be held
	over := w.snap.Now.Sub(last) >= retryAfter(failures)
	if failures == 0 || over && !unheld {
		return true
	}
	switch {
	case cause == mig.CauseExists:
		c.obstacle = w.occupied(c)
	case hopeless:
		w.giveBack(c, Hold, true, message)
	case failures >= c.set.Flex.MaxAttempts && !w.stays(c) && !c.startedAfter(last):
		w.giveBack(c, Requeue, false, fmt.Sprintf("%d attempts failed, the last: %s", failures, message))
	default:
		c.failed, c.next = failures, last.Add(retryAfter(failures))
		c.obstacle = fmt.Sprintf("attempt %d failed (%s): %s; the next one comes %s after it",
			failures, cause, strings.TrimSuffix(message, "."), clock(retryAfter(failures)))
		w.problem(c.group + ": " + c.obstacle)
	}
	return false
}

// occupied says who has the name of the cohort's group, and names the problem
// unless that is done already.
func (w *world) occupied(c *cohort) string {
	for _, g := range w.snap.Groups {
		if g.Name == c.group && g.Region == c.set.Region && g.Stamp.Newer() {
			return fmt.Sprintf("group %s in %s is left alone: a newer slurmflex has made it", g.Name, g.Region)
		}
	}
	if owner := w.snap.Refused[c.group].Owner; owner != "" && owner != w.cfg.Cluster {
		return w.problem(fmt.Sprintf("group %s in %s belongs to cluster %s; rename this cluster's nodeset %s, or one of the two clusters, so that their names differ",
			c.group, c.set.Region, owner, c.set.Name))
	}
	return w.problem(fmt.Sprintf("%s is there already in %s and does not bear the cluster's stamp; delete it or give it another name", c.group, c.set.Region))
}

// failures tells how many attempts for the cohort failed in a row, and why and
// when the last one did. The requests on record count, or what the cloud
// refused if that is more: it may keep a record of a refusal, or none. A
// request's end is not recorded, so its creation stands for it: a request that
// waited for hours is tried again at once.
func (w *world) failures(c *cohort, group *mig.Group) (n int, cause mig.Cause, message string, last time.Time) {
	if group != nil {
		for i := len(group.Requests) - 1; i >= 0 && group.Requests[i].State == mig.Failed; i-- {
			if r := group.Requests[i]; n == 0 {
				cause, message, last = r.Cause, r.Message, r.Created
			}
			n++
		}
	}
	if r, ok := w.snap.Refused[c.group]; ok && r.Times > 0 && r.At.After(last) && (r.Cause != mig.CauseExists || group == nil) {
		cause, message, last = r.Cause, r.Message, r.At
		n = max(n, r.Times)
	}
	return n, cause, message, last
}
