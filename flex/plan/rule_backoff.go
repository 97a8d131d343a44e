package plan

import (
	"fmt"
	"slices"
	"time"

	"slurmflex/flex/plan/memo"
	"slurmflex/flex/plan/scene"
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

// backOff judges by what came of the cohort's earlier attempts. Where no attempt can
// succeed its job is held; where max_attempts have failed it is requeued, once for each
// attempt that fails.
func backOff(w *wanted, c *cohort) verdict {
	failures, trouble, last := failures(w.scene, c, w.scene.Group(c.id()))
	if failures == 0 {
		return verdict{}
	}
	hopeless := slices.Contains([]mig.Cause{mig.CauseConfig, mig.CausePermission, mig.CauseNotFound}, trouble.Cause)
	unheld := hopeless && c.job != nil && !keeps(w.scene, c) && !c.startedAfter(last) && !c.hasRivals() // its job is yet to be held
	if over := w.scene.Seen.Now.Sub(last) >= retryAfter(failures); over && !unheld {
		return verdict{}
	}
	switch {
	case trouble.Cause == mig.CauseExists:
		return occupied(w, c)
	case hopeless && !keeps(w.scene, c) && !c.startedAfter(last): // an admin may have released the job since
		return w.giveUp(c, Hold, true, "request-refused", trouble.Brief()).quoting(trouble).decided()
	case failures >= c.set.Flex.MaxAttempts && !stays(w.scene, c) && !c.startedAfter(last):
		return w.giveUp(c, Requeue, false, "request-failed", fmt.Sprintf("%d attempts failed, the last: %s", failures, trouble.Brief())).quoting(trouble).decided()
	}
	next := last.Add(retryAfter(failures))
	why := memo.Failed(failures, fmt.Sprintf("%s; retrying at %s", trouble.Brief(), next.UTC().Format(time.RFC3339)))
	return verdict{
		do: waits, why: why, failed: failures, next: next,
		problems: []scene.Problem{scene.NewProblem("request-failed", fmt.Sprintf("%s attempt %d", c.group, failures), "%s: %s", c.group, why)},
	}.quoting(trouble)
}

// quoting has the verdict's problems end with Google's message, unless they quote it.
func (v verdict) quoting(t mig.Trouble) verdict {
	if t.Message != t.Brief() {
		for i := range v.problems {
			v.problems[i].Text += inGooglesWords(t.Message)
		}
	}
	return v
}

// occupied says who has the name of the cohort's group. What a newer slurmflex has made
// is a problem that is named already.
func occupied(w *wanted, c *cohort) verdict {
	for _, g := range w.scene.Seen.Groups {
		if g.Name == c.group && g.Region == c.set.Region && g.Stamp.Newer() {
			return verdict{do: waits, why: fmt.Sprintf("group %s in %s is left alone because a newer slurmflex created it", g.Name, g.Region)}
		}
	}
	p := scene.NewProblem("group-name-taken", c.group, "%s already exists in %s without this cluster's stamp; delete or rename it", c.group, c.set.Region)
	if owner := w.scene.Seen.Refused[c.group].Owner; owner != "" && owner != w.scene.Config.Cluster {
		p = scene.NewProblem("group-name-taken", c.group, "group %s in %s belongs to cluster %s; rename this cluster's nodeset %s, or one of the two clusters, so that their names differ",
			c.group, c.set.Region, owner, c.set.Name)
	}
	return verdict{do: waits, why: p.Text, problems: []scene.Problem{p}}
}

// failures counts how many attempts for the cohort failed in a row, and why and
// when the last one did. The requests on record count, or what the cloud
// refused if that is more: it may keep a record of a refusal, or none. A
// request's end is not recorded, so its creation stands for it: a request that
// waited for hours is tried again at once.
func failures(s *scene.Scene, c *cohort, group *mig.Group) (n int, trouble mig.Trouble, last time.Time) {
	requests := c.requestsOf(group)
	for i := len(requests) - 1; i >= 0 && requests[i].State == mig.Failed; i-- {
		if r := requests[i]; n == 0 {
			trouble, last = r.Trouble(), r.Created
		}
		n++
	}
	r := refusal(s, c)
	if r.Times > 0 && r.At.After(last) && (r.Cause != mig.CauseExists || group == nil) {
		trouble, last = mig.Trouble{Cause: r.Cause, Message: r.Message, Quota: r.Quota}, r.At
		n = max(n, r.Times)
	}
	return n, trouble, last
}

// refusal is what the cloud refused last to make for the cohort: its group, or if that
// is shared, the request for its node.
func refusal(s *scene.Scene, c *cohort) scene.Refusal {
	last := s.Seen.Refused[c.group]
	if own := s.Seen.Refused[c.outcome()]; own.Last().After(last.Last()) {
		return own
	}
	return last
}
