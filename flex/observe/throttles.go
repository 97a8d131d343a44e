package observe

import (
	"context"
	"fmt"
	"time"

	"go.uber.org/zap"

	"slurmflex/flex/memory"
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

// observeThrottles finds out how many tasks of each array may run at once. It asks about arrays
// that may get doors and whose rows show no throttle, because squeue leaves it out once a pending
// task has a record of its own.
func (o Observer) observeThrottles(ctx context.Context, snap *scene.Snapshot) {
	snap.Throttles = map[uint32]int{}
	for i := range snap.Jobs {
		if most := snap.Jobs[i].Throttle(); most > 0 {
			snap.Throttles[snap.Jobs[i].Array()] = most
		}
	}
	known, left := memory.Throttles{}, throttlesAtOnce
	for _, j := range snap.Jobs {
		array := j.Array()
		if _, isKnown := snap.Throttles[array]; isKnown || array == 0 || !o.covers() || !demand.LacksNodes(j) || !o.isForFlex(j) {
			continue
		}
		throttle, isRead := o.Memory.Throttles[array]
		if left > 0 && (!isRead || snap.Begun.Sub(throttle.Read) >= throttleAge) {
			most, err := o.readThrottle(ctx, j)
			left--
			if err != nil {
				o.Log.Debug("throttle not read", zap.Uint32("array", array), zap.Error(err))
				most, left = leastThrottle, 0 // the next pass asks about the next array
			}
			throttle, isRead = memory.Throttle{Most: most, Read: snap.Begun}, true
		}
		if !isRead {
			snap.Throttles[array] = leastThrottle
			continue
		}
		snap.Throttles[array], known[array] = throttle.Most, throttle
	}
	o.Memory.Throttles = known
}

// readThrottle reads how many tasks of a row's array may run at once.
func (o Observer) readThrottle(ctx context.Context, j slurm.Job) (int, error) {
	tasks := j.Tasks()
	if len(tasks) == 0 {
		return 0, fmt.Errorf("%s: no task's index", j.Name())
	}
	return o.Slurm.ArrayThrottle(ctx, j.Array(), tasks[0])
}
