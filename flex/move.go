package flex

import (
	"context"
	"fmt"

	"slurmflex/flex/plan"
	"slurmflex/flex/plan/memo"
	"slurmflex/slurm"
)

// moveJob moves a job to kept machines, unless it is not what it was when the plan was
// made. Its nodes go back only when the others are reserved for it. Wherever it is cut
// off, the next pass goes on: the reservation says that the job moves.
func (r *Reconciler) moveJob(ctx context.Context, a plan.MoveJob) error {
	if len(a.From) == 0 {
		return r.Scheduler.StartNow(ctx, a.Job, a.Limit)
	}
	records, err := r.records(ctx, a.Job)
	if err != nil || len(records) == 0 {
		return err
	}
	if rec := records[0]; rec.State != slurm.JobConfiguring || !rec.Requeues() {
		return fmt.Errorf("job %d has changed: it is %s", a.Job, rec.State)
	}
	if a.Reserves {
		spec := slurm.JobReservationSpec{Name: a.Reservation, User: a.User, Nodes: a.To, Held: a.Held, Lasts: slurm.MoveLimit}
		if err := r.Scheduler.ReserveForJob(ctx, spec); err != nil {
			return err
		}
	}
	if err := r.Scheduler.SetJobReservation(ctx, a.Job, a.Reservation); err != nil {
		return err
	}
	if _, err := r.untaken(ctx, a.From, a.Job); err != nil {
		return err
	}
	change := slurm.NodeChange{State: "power_down_force", Reason: memo.ReasonPrefix + "the job moves to kept machines"}
	if err := r.Scheduler.UpdateNodes(ctx, a.From, change); err != nil {
		return err
	}
	return r.Scheduler.StartNow(ctx, a.Job, a.Limit)
}
