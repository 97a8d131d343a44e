package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"slurmflex/flex/plan/memo"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// fallbackAt is when a cohort's job leaves its partition for others of its own list: after
// fallback_after, or when capacity that comes at once was refused. It is zero if it has no
// such list, or fallback_after is off. What was before its last move is over, whatever
// Slurm's clock says. Its list begins again no sooner than a refusal is tried again: a hook
// remembers no earlier one.
func (w *wanted) fallbackAt(c *cohort) (at time.Time) {
	if c.job == nil || c.set.Flex.FallbackAfter == 0 {
		return time.Time{}
	}
	chain := w.snap.Chains[c.job.ID]
	since := w.lacksSince(c)
	if since.IsZero() || len(chain.List) < 2 || !slices.Contains(chain.List, c.job.Partition) || w.isRestricted(c.job.Partition) || !w.canLeave(c.job) {
		return time.Time{}
	}
	if refused := w.refusedAt(c); !refused.IsZero() {
		if to, _ := w.after(c.job, chain.List, c.job.Partition); slices.Contains(to, c.job.Partition) { // its list begins again
			return later(refused, chain.Moved.At.Add(firstRetry))
		}
		return refused
	}
	return later(since, chain.Moved.At).Add(c.set.Flex.FallbackAfter)
}

// refusedAt is when capacity that comes at once was last refused to the cohort's job; zero
// if it was not.
func (s *scene) refusedAt(c *cohort) time.Time {
	n, _, _, last := s.failures(c, nil)
	if !c.set.Flex.Capacity.AtOnce() || n == 0 || c.startedAfter(last) || last.Before(s.snap.Chains[c.job.ID].Moved.At) {
		return time.Time{}
	}
	return last
}

// canLeave reports whether nothing but its partition keeps a job where it is, and Slurm
// would requeue it.
func (s *scene) canLeave(j *slurm.Job) bool {
	return j.State == slurm.JobConfiguring && j.HetID == 0 && !j.IsTasks() && !j.Pinned && j.Reservation == "" && s.snap.Requeues[j.ID]
}

// fallsBack gives a job back whose machines have not come within fallback_after, or are
// refused that would come at once, so that it moves to the next partition of its own list.
// One of which any machine is there, or on its way, stays.
func fallsBack(w *wanted, c *cohort) verdict {
	at := w.fallbackAt(c)
	if at.IsZero() || !w.isOld(at, 0) || w.unseen(c.set.Region) || w.unreadOf(c) != "" {
		return verdict{}
	}
	if len(w.takeable(c.job, false)) < len(c.job.Nodes) || slices.ContainsFunc(c.job.Nodes, w.isBeingMade) {
		return verdict{}
	}
	chain := w.snap.Chains[c.job.ID]
	to, _ := w.after(c.job, chain.List, c.job.Partition)
	if len(to) == 0 {
		return verdict{}
	}
	waited := w.snap.Now.Sub(w.lacksSince(c))
	chain.Leaving = memo.Move{From: c.job.Partition, To: to, Waited: waited}
	why, fault := w.leavesFor(c, waited)
	v := w.giveUp(c, Requeue, false, "fallback", why+"; the job moves to "+strings.Join(to, ","))
	if !fault {
		v.problems = nil
	}
	if v.back != nil {
		v.back.Leaving = &chain
	}
	return v
}

// leavesFor says why a cohort's job leaves its partition, and whether that is a fault of the
// configuration or of rights.
func (w *wanted) leavesFor(c *cohort, waited time.Duration) (text string, fault bool) {
	machines := fmt.Sprintf("for %d × %s in partition %s", len(c.nodes), w.machineType(c.set), c.job.Partition)
	_, cause, message, _ := w.failures(c, nil)
	switch {
	case !c.set.Flex.Capacity.AtOnce():
		return fmt.Sprintf("no capacity %s in %s (%s %s)", machines, roughly(waited), ByFallback, clock(c.set.Flex.FallbackAfter)), false
	case w.refusedAt(c).IsZero():
		return fmt.Sprintf("no machines %s in %s", machines, roughly(waited)), false
	case cause == mig.CauseCapacity, cause == mig.CauseQuota:
		return fmt.Sprintf("no capacity %s: %s", machines, message), false
	}
	return fmt.Sprintf("no machines %s: %s", machines, message), true
}

// staysText says why a job does not leave its partition though fallback_after is over;
// empty if it does, or need not.
func (w *wanted) staysText(c *cohort) string {
	at := w.fallbackAt(c)
	if at.IsZero() || !w.isOld(at, 0) {
		return ""
	}
	to, closed := w.after(c.job, w.snap.Chains[c.job.ID].List, c.job.Partition)
	if len(to) > 0 {
		return ""
	}
	return fmt.Sprintf("; it stays in partition %s: %s", c.job.Partition, strings.Join(closed, "; "))
}
