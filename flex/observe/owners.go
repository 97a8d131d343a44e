package observe

import (
	"context"
	"slices"
	"time"

	"go.uber.org/zap"

	"slurmflex/config"
	"slurmflex/flex/plan/memo"
	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
)

// rereadAfter is how long the record of a waiting job counts: its owner may change the wait limit or
// the deadline.
const rereadAfter = 5 * time.Minute

// observeOwners reads the missing records of jobs with one call: of pending jobs with a door, of
// jobs on flex nodes that are powering up, and of jobs on flex nodes with salvage. If the record of
// one of the waiting jobs is old, it reads the records of all of them again. Until this has once
// succeeded in a process, it also reads the records of all other jobs on flex nodes, and of pending
// jobs that were requeued or held.
func (o Observer) observeOwners(ctx context.Context, snap *scene.Snapshot) {
	rising := make(map[string]bool, len(snap.Nodes))
	for _, n := range snap.Nodes {
		rising[n.Name] = n.State.Power() == slurm.Rising
	}
	doors := doorsIn(o.Config, snap.Reservations)
	var ids, waiting []uint32
	isOld, begins := false, !o.Memory.RecordsRead
	for _, j := range snap.Jobs {
		_, at, read := o.Memory.Records.Get(j.ID)
		waits := j.State.Waits() && !j.IsTasks() && doors[j.Address()] || j.State == slurm.JobConfiguring
		switch {
		case read && waits:
			waiting = append(waiting, j.ID)
			isOld = isOld || snap.Begun.Sub(at) >= rereadAfter
		case read:
		case j.State.Waits() && !j.IsTasks() && (doors[j.Address()] || begins && o.isBack(j, snap.Begun)):
			ids = append(ids, j.ID)
		case j.State.HoldsNodes() && slices.ContainsFunc(j.Nodes, func(name string) bool {
			set, _, ok := o.Config.Find(name)
			return ok && set.Flex != nil && (rising[name] || set.Flex.Salvage || begins)
		}):
			ids = append(ids, j.ID)
		}
	}
	if isOld {
		ids = append(ids, waiting...)
	}
	if _, err := o.Memory.ReadRecords(ctx, o.Slurm, o.Now(), ids...); err != nil {
		// Those jobs are not returned to Slurm, and the next pass reads their records.
		o.Log.Debug("job records not read", zap.Error(err))
	} else if begins {
		o.Memory.RecordsRead = true
	}
}

// doorsIn returns the addresses of the jobs with a door.
func doorsIn(cfg *config.Config, reservations []slurm.Reservation) map[string]bool {
	doors := map[string]bool{}
	for _, held := range reservations {
		if h := memo.ParseHold(cfg.Cluster, held.Name); h.Kind == memo.DoorHold {
			doors[h.Address] = true
		}
	}
	return doors
}

// requeuePause is slightly longer than the time for which Slurm keeps a requeued job from starting.
const requeuePause = 3 * time.Minute

// isBack reports whether a pending job of a partition with flex-start nodes is held or was just
// requeued.
func (o Observer) isBack(j slurm.Job, now time.Time) bool {
	return (j.Reason == "JobHeldAdmin" || j.Reason == slurm.BeginTime && j.Start.Sub(now) <= requeuePause) && o.Config.HasOurs(j.Partition)
}
