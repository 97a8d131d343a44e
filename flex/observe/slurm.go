package observe

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"slurmflex/flex/plan/memo"
	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
)

// observeSlurm reads nodes before jobs, so that it sees a job that has just started. It records
// rows that cannot be read.
func (o Observer) observeSlurm(ctx context.Context, snap *scene.Snapshot) (err error) {
	snap.Unread, snap.Merged = nil, nil
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
	rankByTier(snap.Jobs, o.Memory.Settings.Partitions)
	snap.Unread = append(snap.Unread, o.Memory.Settings.Unread...)
	o.observeAllowances(ctx, snap)
	return nil
}

// rankByTier puts the highest tier among each job's partitions above the job's priority, so that
// priorities order jobs as Slurm does. It does not change the priority of held jobs.
func rankByTier(jobs []slurm.Job, partitions []slurm.Partition) {
	tiers := map[string]int{}
	for _, p := range partitions {
		tiers[p.Name] = p.Tier
	}
	for i := range jobs {
		if jobs[i].Priority == 0 {
			continue
		}
		highest := 0
		for name := range strings.SplitSeq(jobs[i].Partition, ",") {
			highest = max(highest, tiers[name])
		}
		jobs[i].Priority += uint64(highest) << 32
	}
}

// tasksAtOnce limits how many tasks of arrays a pass reads besides those that have a door: a long
// array would fill the answer.
const tasksAtOnce = 1_000

// observeTasks reads the records of array tasks that have a door, or that the queue hides in a row
// that does not tell how they wait. Each gets a row of its own. An array's last task keeps the
// array's record: if it uses a door, its row replaces the array's.
func (o Observer) observeTasks(ctx context.Context, snap *scene.Snapshot) error {
	addresses := o.hiddenTasks(snap.Jobs)
	for _, held := range snap.Reservations {
		if h := memo.ParseHold(o.Config.Cluster, held.Name); h.Kind == memo.DoorHold && strings.Contains(h.Address, "_") {
			addresses = append(addresses, h.Address)
		}
	}
	if len(addresses) == 0 {
		return nil
	}
	slices.Sort(addresses)
	tasks, err := o.Slurm.TaskJobs(ctx, slices.Compact(addresses))
	if err = snap.Unread.Take(err); err != nil {
		return err
	}
	known := make(map[uint32]int, len(snap.Jobs))
	for i := range snap.Jobs {
		known[snap.Jobs[i].ID] = i
	}
	own, reasons := map[uint32][]int{}, map[uint32]string{}
	for _, j := range tasks {
		switch at, isKnown := known[j.ID]; {
		case !isKnown:
			snap.Jobs = append(snap.Jobs, j)
			own[j.ArrayID] = append(own[j.ArrayID], j.Tasks()...)
		case snap.Jobs[at].IsTasks() && j.Reservation != "" && memo.ParseHold(o.Config.Cluster, j.Reservation).Address == j.Address():
			snap.Jobs[at] = j
		case snap.Jobs[at].IsTasks():
			reasons[j.ID] = j.Reason
		}
	}
	separate(snap, own, reasons)
	return nil
}

// separate takes the tasks that have rows of their own out of the rows of their arrays, and gives
// these the reasons of the rest.
func separate(snap *scene.Snapshot, own map[uint32][]int, reasons map[uint32]string) {
	for i := range snap.Jobs {
		j := &snap.Jobs[i]
		if !j.IsTasks() || len(own[j.ArrayID]) == 0 {
			continue
		}
		snap.Merged = append(snap.Merged, *j)
		j.ArrayTask = tasksWithout(*j, own[j.ArrayID])
		if reason, read := reasons[j.ID]; read {
			j.Reason = reason
		}
	}
	snap.Jobs = slices.DeleteFunc(snap.Jobs, func(j slurm.Job) bool { return j.ArrayTask == "" && len(own[j.ArrayID]) > 0 })
}

// hiddenTasks returns the addresses of the tasks in rows that hide records of tasks which wait for
// something else than the rest: one is held, for example, or has a door with the array's record. All
// these rows have equal shares of tasksAtOnce.
func (o Observer) hiddenTasks(jobs []slurm.Job) (addresses []string) {
	var rows []slurm.Job
	for _, j := range jobs {
		if o.covers() && j.IsTasks() && o.Config.HasOurs(j.Partition) && (hidesTasks(j) || memo.ParseHold(o.Config.Cluster, j.Reservation).Kind == memo.DoorHold) {
			rows = append(rows, j)
		}
	}
	for _, j := range rows {
		tasks := j.Tasks()
		for _, task := range tasks[:min(len(tasks), max(1, tasksAtOnce/len(rows)))] {
			addresses = append(addresses, fmt.Sprintf("%d_%d", j.ArrayID, task))
		}
	}
	return addresses
}
