package plan

import (
	"fmt"
	"time"

	"slurmflex/mig"
	"slurmflex/slurm"
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

// mayAsk reports whether the cohort may ask the cloud now, judging by what came
// of its earlier attempts. Where no attempt can succeed, or max_attempts have
// failed, its nodes go back to Slurm.
func (w *world) mayAsk(c *cohort, group *mig.Group) bool {
	failures, cause, message, last := w.failures(c, group)
	if failures == 0 {
		return true
	}
	if w.snap.Now.Sub(last) >= retryAfter(failures) {
		return true
	}
	switch {
	case cause == mig.CauseConfig || cause == mig.CausePermission || cause == mig.CauseNotFound:
		w.giveBack(c, message)
	case failures >= c.set.Flex.MaxAttempts:
		w.giveBack(c, fmt.Sprintf("%d attempts failed, the last: %s", failures, message))
	default:
		w.problem(fmt.Sprintf("%s: attempt %d failed (%s); next one in %s: %s", c.group, failures,
			cause, (retryAfter(failures) - w.snap.Now.Sub(last)).Round(time.Second), message))
	}
	return false
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
	if r, ok := w.snap.Refused[c.group]; ok && r.At.After(last) {
		cause, message, last = r.Cause, r.Message, r.At
		n = max(n, r.Times)
	}
	return n, cause, message, last
}

// giveBack powers down all nodes of the cohort's job that have no machine yet.
// Slurm then requeues the job; had a node been left out, another job could be
// placed on it without a call.
func (w *world) giveBack(c *cohort, reason string) {
	nodes := c.nodes
	if c.job != nil {
		nodes = w.unbooted(c.job)
	}
	w.setNodes(nodes, "power_down_force", reasonPrefix+reason, Why(fmt.Sprintf("%s: %s", c.group, reason)))
	w.problem(fmt.Sprintf("%s goes back to Slurm: %s", slurm.Fold(nodes), reason))
}

// unbooted returns the job's flex nodes that are rising and have no machine.
func (w *world) unbooted(job *slurm.Job) []string {
	var names []string
	for _, name := range job.Nodes {
		if m := w.nodes[name]; m != nil && m.power == rising {
			if stays, _ := w.machine(name); !stays {
				names = append(names, name)
			}
		}
	}
	return names
}
