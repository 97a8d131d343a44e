package flex

import (
	"context"
	"fmt"

	"slurmflex/flex/plan"
	"slurmflex/flex/plan/memo"
)

// changePartitions moves a pending job to other partitions of its list, and remembers the
// list, unless the job is not what it was when the plan was made. Wherever it is cut off,
// the next pass goes on: the AdminComment says before where the job goes.
func (r *Reconciler) changePartitions(ctx context.Context, a plan.ChangePartitions) error {
	records, err := r.records(ctx, a.Job)
	if err != nil || len(records) == 0 {
		return err
	}
	rec := records[0]
	text, _ := memo.SplitChain(rec.AdminComment)
	if !memo.MayWrite(rec.AdminComment) {
		r.owners.noteTold(a.Job, rec.AdminComment, memo.Chain{})
		return nil
	}
	if len(a.To) > 0 {
		if !rec.State.Waits() || !rec.Requeues() {
			return fmt.Errorf("job %d has changed: it is %s", a.Job, rec.State)
		}
		if err := r.Scheduler.SetJobPartitions(ctx, a.Job, a.To, a.Start); err != nil {
			return err
		}
	}
	return r.tellChain(ctx, rec, text, a.Chain)
}
