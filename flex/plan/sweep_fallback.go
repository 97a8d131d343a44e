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
	falls := w.scene.Config.FallsBack()
	for _, j := range w.scene.ByImportance() {
		chain, known := w.scene.Seen.Chains[j.ID]
		_, read := w.scene.Seen.Requeues[j.ID]
		if !known && !(read && falls(j.Partition) && memo.MayWrite(w.scene.Seen.Told[j.ID])) || j.HetID != 0 || j.IsTasks() {
			continue
		}
		var a *ChangePartitions
		switch {
		case j.State.Waits():
			a = w.queued(j, chain)
		case j.State == slurm.JobConfiguring && j.Partition != chain.Leaving.From && slices.Contains(chain.Leaving.To, j.Partition) &&
			!slices.Contains(chain.Moved.To, j.Partition): // it may be there by its move before
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
	open, closed := openTo(w.scene, j, chain.Leaving.To)
	switch {
	case len(closed) > 0 && !sameSet(partitionsOf(j), chain.InSlurm()): // Slurm was told already
		chain = arrived(chain)
		chain.Moved.At = w.scene.Seen.Now
		return &ChangePartitions{Chain: chain, Why: "it has moved"}
	case len(closed) > 0:
		open, _ = after(w.scene, j, chain, chain.Leaving.From)
		chain.Leaving.To = open
		if len(open) == 0 {
			chain.Leaving = memo.Move{}
		}
		return &ChangePartitions{Chain: chain, Why: Why(strings.Join(closed, "; "))}
	case j.Priority == 0 || j.Start.Sub(w.scene.Seen.Now) > requeueTime && !slurm.LacksNodes(j.Reason):
		return nil // it is held, or its owner wants it to begin later
	}
	chain = arrived(chain)
	chain.Moved.At = w.scene.Seen.Now
	return &ChangePartitions{To: open, Start: !slurm.LacksNodes(j.Reason), Chain: chain, Why: Why("no machines came in partition " + chain.Moved.From)}
}

// restored gives a job its list back that has got no nodes in the time of a wait in the
// partitions that it has moved to, or cannot as long as they are closed; and one that had
// nodes there and was requeued, as when Google takes Spot machines back.
func (w *wanted) restored(j *slurm.Job, chain memo.Chain) *ChangePartitions {
	var turn time.Duration
	for _, p := range w.scene.Config.Partitions {
		if slices.Contains(chain.List, p.Name) {
			turn = max(turn, w.scene.Config.FallbackAfter(p))
		}
	}
	open, _ := openTo(w.scene, j, chain.List)
	here, _ := openTo(w.scene, j, chain.Moved.To)
	more := slices.ContainsFunc(open, func(name string) bool { return !slices.Contains(chain.Moved.To, name) })
	if !more || j.Priority == 0 || len(here) > 0 && !w.scene.IsOld(chain.Moved.At, turn) && !w.ranSince(j, chain.Moved.At) {
		return nil
	}
	from := chain.Moved.To[len(chain.Moved.To)-1]
	chain.Leaving = memo.Move{From: from, To: open, Waited: max(0, w.scene.Seen.Now.Sub(chain.Moved.At))}
	return &ChangePartitions{Chain: chain, Why: Why("it is to have its other partitions again")}
}

// ranSince reports whether the job had nodes after its move and was requeued a moment ago:
// Slurm keeps it from starting, and that from a later time on than the move's.
func (w *wanted) ranSince(j *slurm.Job, moved time.Time) bool {
	return j.Reason == slurm.BeginTime && j.Reservation == "" && j.Start.Sub(moved) > requeueTime &&
		j.Start.After(w.scene.Seen.Now) && j.Start.Sub(w.scene.Seen.Now) <= requeueTime
}
