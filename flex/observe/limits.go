package observe

import (
	"context"
	"slices"

	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
)

// observeAllowances reads Slurm's limits if jobs wait pending for machines or a limit. It reads the
// limits after the jobs, so that a job that starts in between is counted.
func (o Observer) observeAllowances(ctx context.Context, snap *scene.Snapshot) {
	snap.Allowances, snap.AllowancesErr = slurm.Allowances{}, nil
	if !o.covers() || !slices.ContainsFunc(snap.Jobs, slurm.Job.NeedsLimits) {
		return
	}
	snap.Allowances, snap.AllowancesErr = o.Slurm.Allowances(ctx, o.Memory.Settings.Enforced)
}
