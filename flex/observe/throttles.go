package observe

import (
	"context"
	"fmt"
	"slices"
	"time"

	"go.uber.org/zap"

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

// observeThrottles finds out how many tasks of each array may run at once. squeue leaves that out
// once a pending task has a record of its own. So observeThrottles asks about arrays that may get
// doors, whatever their reason: Slurm clears it after each change of a job. Arrays that were never read
// are first, then the oldest readings.
func (o Observer) observeThrottles(ctx context.Context, snap *scene.Snapshot) {
	snap.Throttles = map[uint32]int{}
	for _, j := range snap.Jobs {
		if most := j.Throttle(); most > 0 {
			snap.Throttles[j.Array()] = most
		}
	}
	var rows []slurm.Job // of arrays, one of each, that show no throttle
	for _, j := range snap.Jobs {
		if _, known := snap.Throttles[j.Array()]; known || j.Array() == 0 || !o.covers() || !j.MayStart() || !o.Config.HasOurs(j.Partition) {
			continue
		}
		rows = append(rows, j)
		most, _, read := o.Memory.Throttles.Get(j.Array())
		if !read {
			most = leastThrottle
		}
		snap.Throttles[j.Array()] = most
	}
	readAt := func(j slurm.Job) time.Time {
		_, at, _ := o.Memory.Throttles.Get(j.Array())
		return at
	}
	slices.SortStableFunc(rows, func(a, b slurm.Job) int { return readAt(a).Compare(readAt(b)) })
	for _, j := range rows[:min(len(rows), throttlesAtOnce)] {
		if snap.Begun.Sub(readAt(j)) >= throttleAge {
			o.readThrottle(ctx, snap, j)
		}
	}
}

// readThrottle reads how many tasks of an array may run at once. If that fails, the former reading
// counts until the next attempt, a minute later.
func (o Observer) readThrottle(ctx context.Context, snap *scene.Snapshot, j slurm.Job) {
	err := fmt.Errorf("%s: no task's index", j.Name())
	if tasks := j.Tasks(); len(tasks) > 0 {
		var most int
		if most, err = o.Slurm.ArrayThrottle(ctx, j.Array(), tasks[0]); err == nil {
			snap.Throttles[j.Array()] = most
		}
	}
	if err != nil {
		o.Log.Debug("throttle not read", zap.Uint32("array", j.Array()), zap.Error(err))
	}
	o.Memory.Throttles.Note(j.Array(), snap.Throttles[j.Array()], snap.Begun)
}
