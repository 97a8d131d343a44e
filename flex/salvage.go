package flex

import (
	"context"
	"fmt"

	"slurmflex/flex/plan"
	"slurmflex/flex/plan/memo"
	"slurmflex/slurm"
)

// salvageJob holds nodes for a job that has lost others, unless it is not what it was when
// the plan was made. Slurm is told of the loss only when the others are reserved, so that
// nobody can have them in between. Wherever it is cut off, the next pass goes on.
func (r *Reconciler) salvageJob(ctx context.Context, a plan.SalvageJob) error {
	if len(a.Lost) > 0 {
		records, err := r.records(ctx, a.Job)
		if err != nil || len(records) == 0 {
			return err
		}
		if rec := records[0]; rec.State != slurm.JobRunning || !rec.Requeues() {
			return fmt.Errorf("job %d has changed: it is %s", a.Job, rec.State)
		}
	}
	if a.Reserves {
		spec := slurm.JobReservationSpec{Name: a.Reservation, User: a.User, Nodes: a.Nodes, Lasts: a.Lasts}
		if len(a.Lost) > 0 {
			spec.Nodes, spec.Held = nil, a.Nodes
		}
		if err := r.Scheduler.ReserveForJob(ctx, spec); err != nil {
			return err
		}
	}
	if err := r.Scheduler.SetJobReservation(ctx, a.Job, a.Reservation); err != nil {
		return err
	}
	if len(a.Lost) == 0 {
		return r.Scheduler.StartNow(ctx, a.Job, a.Limit)
	}
	change := slurm.NodeChange{State: "down", Reason: memo.Lost + "its job keeps the others"}
	return r.Scheduler.UpdateNodes(ctx, a.Lost, change)
}
