package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"slurmflex/flex/plan/memo"
	"slurmflex/slurm"
)

// requeueTime is for how long Slurm keeps a job that it has requeued from starting, and a
// little more. One that may start only later was told so by its owner.
const requeueTime = 3 * time.Minute

// fallBack has jobs that have left a partition start in the next of their own list, gives
// those that did not get nodes there their list back, and remembers the lists. What Slurm
// shows of a job that waits counts: a list that its owner has changed is his.
func fallBack(w *wanted, _ []verdict) (s step) {
	falls := w.cfg.FallsBack()
	for _, j := range w.byImportance() {
		chain, known := w.snap.Chains[j.ID]
		_, read := w.snap.Requeues[j.ID]
		if !known && !(read && falls(j.Partition) && isOurs(w.snap.Told[j.ID])) || j.HetID != 0 || j.IsTasks() {
			continue
		}
		var a *ChangePartitions
		switch {
		case j.State.Waits():
			a = w.queued(j, chain)
		case j.State == slurm.JobConfiguring && chain.Leaving.To != nil && j.Partition != chain.Leaving.From && slices.Contains(chain.Leaving.To, j.Partition):
			chain = arrived(chain)
			chain.Moved.At = j.Start
			a = &ChangePartitions{Chain: chain, Why: "it has moved"}
		}
		if a != nil {
			a.OfJob, a.Name = OfJob{j.ID}, j.Name()
			s.actions = append(s.actions, *a)
			s.expect = append(s.expect, fmt.Sprintf("job %s to have its partitions", a.Name))
		}
	}
	return s
}

// queued is what becomes of the partitions of a job that waits in the queue; nil: nothing.
func (w *wanted) queued(j *slurm.Job, chain memo.Chain) *ChangePartitions {
	shown := partitionsOf(j)
	switch own := sameSet(shown, chain.InSlurm()); {
	case !own && !(chain.Leaving.To != nil && sameSet(shown, chain.Leaving.To)):
		if len(shown) < 2 || !memo.Fits(shown) {
			shown = nil
		}
		if len(shown) == len(chain.List) && len(shown) == 0 {
			return nil
		}
		return &ChangePartitions{Chain: memo.Chain{List: shown}, Why: "its owner has submitted it to them"}
	case chain.Leaving.To != nil:
		return w.next(j, chain)
	case chain.Moved.To != nil:
		return w.restored(j, chain)
	}
	return nil
}

// next has a job that has left a partition start in the others. Which these are stands
// in its AdminComment before Slurm is told.
func (w *wanted) next(j *slurm.Job, chain memo.Chain) *ChangePartitions {
	open, closed := w.openTo(j, chain.Leaving.To)
	switch {
	case len(closed) > 0:
		open, _ = w.after(j, chain.List, chain.Leaving.From)
		chain.Leaving.To = open
		if len(open) == 0 {
			chain.Leaving = memo.Move{}
		}
		return &ChangePartitions{Chain: chain, Why: Why(strings.Join(closed, "; "))}
	case j.Priority == 0 || j.Start.Sub(w.snap.Now) > requeueTime:
		return nil // it is held, or its owner wants it to begin later
	}
	chain = arrived(chain)
	chain.Moved.At = w.snap.Now
	return &ChangePartitions{To: open, Start: true, Chain: chain, Why: Why("no machines came in partition " + chain.Moved.From)}
}

// restored gives a job that has got no nodes its list back, when it has had the time of
// a wait in the partitions that it has moved to.
func (w *wanted) restored(j *slurm.Job, chain memo.Chain) *ChangePartitions {
	var turn time.Duration
	for _, p := range w.cfg.Partitions {
		if slices.Contains(chain.List, p.Name) {
			turn = max(turn, w.cfg.FallbackAfter(p))
		}
	}
	open, _ := w.openTo(j, chain.List)
	if !w.isOld(chain.Moved.At, turn) || len(open) <= len(chain.Moved.To) || j.Priority == 0 {
		return nil
	}
	why := Why("it got no nodes in " + strings.Join(chain.Moved.To, ","))
	chain.Moved.To = open
	chain.Moved.At = w.snap.Now
	if sameSet(open, chain.List) {
		chain.Moved = memo.Move{}
	}
	return &ChangePartitions{To: open, Chain: chain, Why: why}
}

// isOurs reports whether an AdminComment is ours, or nobody's.
func isOurs(comment string) bool {
	return comment == "" || strings.HasPrefix(comment, memo.OwnComment)
}
