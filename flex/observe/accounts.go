package observe

import (
	"context"
	"fmt"
	"slices"

	"slurmflex/config"
	"slurmflex/flex/plan/memo"
	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
)

// observeAccounts adds the accounts of pending jobs that Slurm has planned or that have a door, and of
// jobs on flex nodes, if an account has a limit. It reads a job's account once, as the history does.
func (o Observer) observeAccounts(ctx context.Context, snap *scene.Snapshot) {
	if !slices.ContainsFunc(o.Config.Options.Limits, func(l config.Limit) bool { return l.Account != "" }) {
		return
	}
	doors := doorsIn(o.Config, snap.Reservations)
	var unknown []uint32
	for _, j := range snap.Jobs {
		_, _, read := o.Memory.Accounts.Get(j.ID)
		isOurs := func(name string) bool { return o.Config.FlexSetOf(name) != nil }
		if !read && (j.State.Waits() && (doors[j.Address()] || len(j.Planned) > 0) || j.State.HoldsNodes() && slices.ContainsFunc(j.Nodes, isOurs)) {
			unknown = append(unknown, j.ID)
		}
	}
	if len(unknown) > 0 {
		found, err := o.Slurm.Accounts(ctx, unknown)
		if err != nil {
			snap.AccountsErr = fmt.Errorf("read accounts of jobs: %w", err)
		}
		for _, job := range unknown {
			if err == nil {
				o.Memory.Accounts.Note(job, found[job], snap.Begun)
			}
		}
	}
	snap.Accounts = o.Memory.Accounts.All()
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
