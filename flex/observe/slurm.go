package observe

import (
	"context"
	"fmt"
	"strings"

	"slurmflex/flex/plan/memo"
	"slurmflex/flex/plan/scene"
)

// observeSlurm reads nodes before jobs, so that it sees a job that has just started. It records
// rows that cannot be read.
func (o Observer) observeSlurm(ctx context.Context, snap *scene.Snapshot) (err error) {
	snap.Unread = nil
	snap.Nodes, err = o.Slurm.Nodes(ctx)
	if err = snap.Unread.Take(err); err != nil {
		return fmt.Errorf("read nodes: %w", err)
	}
	snap.Jobs, err = o.Slurm.Jobs(ctx)
	if err = snap.Unread.Take(err); err != nil {
		return fmt.Errorf("read jobs: %w", err)
	}
	snap.Reservations, err = o.Slurm.Reservations(ctx)
	if err = snap.Unread.Take(err); err != nil {
		return fmt.Errorf("read reservations: %w", err)
	}
	if err := o.observeTasks(ctx, snap); err != nil {
		return fmt.Errorf("read tasks of arrays: %w", err)
	}
	o.observeThrottles(ctx, snap)
	if err := o.readSettings(ctx); err != nil {
		return err
	}
	snap.Unread = append(snap.Unread, o.Memory.Settings.Unread...)
	o.observeAllowances(ctx, snap)
	return nil
}

// observeTasks reads the tasks of arrays that have a door, because the queue hides such a task
// among the array's other tasks. An array's last task keeps the array's record. If that task uses a
// door, its row replaces the row that squeue shows for all pending tasks (26.05).
func (o Observer) observeTasks(ctx context.Context, snap *scene.Snapshot) error {
	var addresses []string
	for _, held := range snap.Reservations {
		if h := memo.ParseHold(o.Config.Cluster, held.Name); h.Kind == memo.DoorHold && strings.Contains(h.Address, "_") {
			addresses = append(addresses, h.Address)
		}
	}
	if len(addresses) == 0 {
		return nil
	}
	tasks, err := o.Slurm.TaskJobs(ctx, addresses)
	if err = snap.Unread.Take(err); err != nil {
		return err
	}
	known := make(map[uint32]int, len(snap.Jobs))
	for i := range snap.Jobs {
		known[snap.Jobs[i].ID] = i
	}
	for _, j := range tasks {
		switch at, isKnown := known[j.ID]; {
		case !isKnown:
			snap.Jobs = append(snap.Jobs, j)
		case snap.Jobs[at].IsTasks() && j.Reservation != "" && memo.ParseHold(o.Config.Cluster, j.Reservation).Address == j.Address():
			snap.Jobs[at] = j
		}
	}
	return nil
}
