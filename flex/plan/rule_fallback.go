package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"slurmflex/flex/plan/memo"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// fallbackAt returns when a cohort's job leaves its partition for others of its own list: when
// requests for it were live or refused for fallback_after, or when capacity that comes at once
// was refused. It returns zero if the job lacks such a list, fallback_after is off, or nothing is
// requested. Waits and refusals from before the last move do not count, whatever Slurm's clock
// shows. The list restarts firstRetry after that move at the earliest, because a hook remembers
// no earlier refusal.
func (w *wanted) fallbackAt(c *cohort) (at time.Time) {
	if !w.mayLeave(c) {
		return time.Time{}
	}
	moved := w.scene.Seen.Chains[c.job.ID].Moved.At
	if refused := refusedAt(w.scene, c); !refused.IsZero() {
		if _, again := w.wayOut(c); again {
			return scene.Later(refused, moved.Add(firstRetry))
		}
		return refused
	}
	since := w.lacksSince(c)
	if since.IsZero() {
		return time.Time{}
	}
	return scene.Later(since, moved).Add(c.set.Flex.FallbackAfter)
}

// mayLeave reports whether the cohort's job has a list of partitions, and whether
// fallback_after and its own kind let it leave the one that it is in.
func (w *wanted) mayLeave(c *cohort) bool {
	if c.job == nil || c.set.Flex.FallbackAfter == 0 {
		return false
	}
	list := w.scene.Seen.Chains[c.job.ID].List
	return len(list) > 1 && slices.Contains(list, c.job.Partition) && !isRestricted(w.scene, c.job.Partition) && canLeave(w.scene, c.job)
}

// wayOut are the partitions of its list to which a cohort's job would go now, and whether
// its list begins again with them; none if it may not leave, or no other would take it.
func (w *wanted) wayOut(c *cohort) (to []string, again bool) {
	if !w.mayLeave(c) {
		return nil, false
	}
	to, _ = after(w.scene, c.job, w.scene.Seen.Chains[c.job.ID], c.job.Partition)
	return to, slices.Contains(to, c.job.Partition)
}

// refusedAt is when capacity that comes at once was last refused to the cohort's job; zero
// if it was not.
func refusedAt(s *scene.Scene, c *cohort) time.Time {
	n, _, last := failures(s, c, nil)
	if !c.set.Flex.Capacity.AtOnce() || n == 0 || c.startedAfter(last) || last.Before(s.Seen.Chains[c.job.ID].Moved.At) {
		return time.Time{}
	}
	return last
}

// canLeave reports whether nothing but its partition keeps a job where it is, and Slurm
// would requeue it.
func canLeave(s *scene.Scene, j *slurm.Job) bool {
	return len(s.DoorsOf(j.ID)) == 0 && j.State == slurm.JobConfiguring && j.HetID == 0 && !j.IsTasks() && !j.Pinned() && j.Reservation == "" && s.Seen.Requeues[j.ID]
}

// fallsBack gives a job back whose machines have not come within fallback_after, or are
// refused that would come at once, so that it moves to the next partition of its own list.
// One of which any machine is there, or on its way, stays.
func fallsBack(w *wanted, c *cohort) verdict {
	at := w.fallbackAt(c)
	if at.IsZero() || !w.scene.IsOld(at, 0) || len(w.scene.Takeable(c.job, false)) < len(c.job.Nodes) {
		return verdict{}
	}
	why, fault := w.leavesFor(c, c.asked.For)
	return w.moveOn(c, fault, "fallback", why)
}

// moveOrGiveUp ends a cohort's wait in its partition: its job moves on to the next of its own
// list, or, where it has no other, becomes what then says.
func (w *wanted) moveOrGiveUp(c *cohort, then Then, hopeless bool, key, reason string) verdict {
	if v := w.moveOn(c, hopeless, key, reason); v.do != unsaid {
		return v
	}
	return w.giveUp(c, then, hopeless, key, reason)
}

// moveOn gives a cohort's job back so that it moves to the next partition of its list; unsaid
// if it cannot. Its list begins again no sooner than a refusal is tried again.
func (w *wanted) moveOn(c *cohort, fault bool, key, reason string) verdict {
	to, again := w.wayOut(c)
	stays := func(node string) bool { return w.scene.Node(node) == nil || w.isBeingMade(node) }
	if len(to) == 0 || len(w.scene.Takeable(c.job, false)) == 0 || w.scene.Unseen(c.set.Region) || unreadOf(w.scene, c) != "" || slices.ContainsFunc(c.job.Nodes, stays) {
		return verdict{}
	}
	chain := w.scene.Seen.Chains[c.job.ID]
	if again && !w.scene.IsOld(chain.Moved.At, firstRetry) {
		return verdict{do: waits, why: reason}
	}
	on := "; the job moves to " + strings.Join(to, ",")
	unsure := slices.Contains(chain.Leaving.To, c.job.Partition) && !sameSet(chain.Leaving.To, to)
	if unsure { // whether Slurm has these already, the job shows when it is pending again
		on = ""
	}
	chain.Leaving = memo.Move{From: c.job.Partition, To: to}
	if since := waitsSince(c); !since.IsZero() {
		chain.Leaving.Waited = max(0, w.scene.Seen.Now.Sub(since))
	}
	v := w.giveUp(c, Requeue, false, key, reason+on)
	if !fault {
		v.problems = nil
	}
	if v.back != nil && !unsure {
		v.back.Leaving = &chain
	}
	return v
}

// leavesFor says why a cohort's job leaves its partition, and whether that is a fault of the
// configuration or of rights.
func (w *wanted) leavesFor(c *cohort, waited time.Duration) (text string, fault bool) {
	machines := fmt.Sprintf("for %d × %s in partition %s", len(c.nodes), w.scene.MachineType(c.set), c.job.Partition)
	_, trouble, _ := failures(w.scene, c, nil)
	switch {
	case !c.set.Flex.Capacity.AtOnce():
		return fmt.Sprintf("%s %s in %s (%s %s)", w.lacked(c), machines, roughly(waited), ByFallback, clock(c.set.Flex.FallbackAfter)), false
	case refusedAt(w.scene, c).IsZero():
		return fmt.Sprintf("no machines %s in %s", machines, roughly(waited)), false
	}
	text, fault = w.lacked(c)+" "+machines, trouble.Cause != mig.CauseCapacity && trouble.Cause != mig.CauseQuota
	if brief := trouble.Brief(); brief != w.lacked(c) {
		text += ": " + brief
	}
	return text, fault
}

// staysText says why a job does not leave its partition though fallback_after is over;
// empty if it does, or need not.
func (w *wanted) staysText(c *cohort) string {
	at := w.fallbackAt(c)
	if at.IsZero() || !w.scene.IsOld(at, 0) {
		return ""
	}
	to, closed := after(w.scene, c.job, w.scene.Seen.Chains[c.job.ID], c.job.Partition)
	if len(to) > 0 {
		return ""
	}
	return fmt.Sprintf("; it stays in partition %s: %s", c.job.Partition, strings.Join(closed, "; "))
}
