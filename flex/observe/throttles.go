package observe

import (
	"context"
	"fmt"
	"slices"
	"time"

	"go.uber.org/zap"

	"slurmflex/flex/plan/demand"
	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
)

const (
	// throttleAge is how long a throttle counts: the array's owner may change it.
	throttleAge = time.Minute

	// throttlesAtOnce limits how many arrays a pass asks about: slurmctld 24.11 answers none for
	// 10 s after about 60 commands without a pause.
	throttlesAtOnce = 10

	// leastThrottle counts for an array with an unread throttle, because Slurm always runs one task.
	leastThrottle = 1
)

// throttled is an array that may get doors, with a row that shows no throttle.
type throttled struct {
	row  slurm.Job
	most int       // the last reading, or leastThrottle
	read time.Time // when the throttle was last read; zero: never
}

// observeThrottles finds out how many tasks of each array may run at once. squeue leaves that out
// once a pending task has a record of its own. So observeThrottles asks about arrays that may get
// doors, those first that were never read, then the oldest readings.
func (o Observer) observeThrottles(ctx context.Context, snap *scene.Snapshot) {
	arrays := o.throttled(snap)
	slices.SortStableFunc(arrays, func(a, b throttled) int { return a.read.Compare(b.read) })
	for i, a := range arrays {
		if i < throttlesAtOnce && snap.Begun.Sub(a.read) >= throttleAge {
			a.most = o.readThrottle(ctx, a)
			o.Memory.Throttles.Note(a.row.Array(), a.most, snap.Begun)
		}
		snap.Throttles[a.row.Array()] = a.most
	}
}

// throttled records the throttles that rows show, and returns the arrays to ask about.
func (o Observer) throttled(snap *scene.Snapshot) (arrays []throttled) {
	snap.Throttles = map[uint32]int{}
	seen := map[uint32]bool{}
	for _, j := range snap.Jobs {
		if most := j.Throttle(); most > 0 {
			snap.Throttles[j.Array()] = most
		}
	}
	for _, j := range snap.Jobs {
		array := j.Array()
		if snap.Throttles[array] > 0 || seen[array] || array == 0 || !o.covers() || !demand.LacksNodes(j) || !o.isForFlex(j) {
			continue
		}
		seen[array] = true
		most, at, read := o.Memory.Throttles.Get(array)
		if !read {
			most = leastThrottle
		}
		arrays = append(arrays, throttled{j, most, at})
	}
	return arrays
}

// readThrottle reads how many tasks of an array may run at once. If that fails, the former reading
// counts until the next attempt, a minute later.
func (o Observer) readThrottle(ctx context.Context, a throttled) int {
	tasks := a.row.Tasks()
	err := fmt.Errorf("%s: no task's index", a.row.Name())
	if len(tasks) > 0 {
		var most int
		if most, err = o.Slurm.ArrayThrottle(ctx, a.row.Array(), tasks[0]); err == nil {
			return most
		}
	}
	o.Log.Debug("throttle not read", zap.Uint32("array", a.row.Array()), zap.Error(err))
	return a.most
}
