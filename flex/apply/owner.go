package apply

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"go.uber.org/zap"

	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/memo"
	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
)

// tell writes a job's AdminComment, unless it holds a comment by another author.
func (h Hands) tell(ctx context.Context, rec slurm.JobRecord, text string) error {
	if memo.MayWrite(rec.AdminComment) {
		if err := h.Slurm.SetAdminComment(ctx, rec.ID, text); err != nil {
			return err
		}
	}
	h.Memory.Told.Replace(rec.ID, text)
	return nil
}

// record reads the record of a job; nil if the job no longer exists.
func (h Hands) record(ctx context.Context, job uint32) (*slurm.JobRecord, error) {
	records, err := h.Memory.ReadRecords(ctx, h.Slurm, h.Now(), job)
	if err != nil || len(records) == 0 {
		return nil, err
	}
	return &records[0], nil
}

// commentJob writes a job's AdminComment if the job still exists. The first comment also appears on
// the terminal of a salloc or srun, which prints nothing while waiting.
func (h Hands) commentJob(ctx context.Context, a action.CommentJob) error {
	rec, err := h.record(ctx, a.Job)
	if rec == nil {
		return err
	}
	// The plan was made before the record was read.
	if memo.Continues(rec.AdminComment, a.Text) || memo.WasWarned(rec.AdminComment, a.Text) {
		h.Memory.Told.Replace(rec.ID, rec.AdminComment)
		return nil
	}
	if err := h.tell(ctx, *rec, a.Text); err != nil {
		return err
	}
	if rec.AdminComment == "" && rec.State != slurm.JobRunning {
		h.notifyTerminal(ctx, *rec, a.Text)
	}
	return nil
}

// notifyTerminal writes to the terminal of a salloc or srun.
func (h Hands) notifyTerminal(ctx context.Context, rec slurm.JobRecord, text string) {
	if !rec.Batch {
		h.notify(ctx, rec.ID, text)
	}
}

// notify writes to the terminal of a job, or to the output of a batch job.
func (h Hands) notify(ctx context.Context, job uint32, text string) {
	if err := h.Slurm.NotifyJob(ctx, job, text); err != nil {
		h.Log.Debug("terminal of a job not notified", zap.Uint32("job", job), zap.Error(err))
	}
}

// returnNodes notifies the owners, then returns the nodes to Slurm, unless the jobs have changed
// since the plan was made. The nodes lack a working machine, so nothing is lost while the owners
// cannot be notified.
func (h Hands) returnNodes(ctx context.Context, a action.ReturnNodes) error {
	before, _, _ := h.Memory.Records.Get(a.Job)
	records, err := h.Memory.ReadRecords(ctx, h.Slurm, h.Now(), append([]uint32{a.Job}, a.Others...)...)
	if err != nil {
		return err
	}
	if now, _, _ := h.Memory.Records.Get(a.Job); scene.LimitsOf(now) != scene.LimitsOf(before) {
		return racef("the wait limit or deadline of job %d has changed", a.Job)
	}
	if !slices.ContainsFunc(records, func(rec slurm.JobRecord) bool { return rec.ID == a.Job }) {
		return nil // the job no longer exists
	}
	for _, rec := range records {
		switch {
		case rec.State == slurm.JobRunning: // late nodes of a running job must not be taken
			return racef("job %d has started", rec.ID)
		case a.Door == "" && a.Then != action.Cancel && !rec.Requeues():
			return fmt.Errorf("job %d keeps its nodes: Slurm would end it", rec.ID)
		}
	}
	q, err := h.queue(ctx)
	if err != nil {
		return err
	}
	if _, err := q.untaken(a.Nodes, append([]uint32{a.Job}, a.Others...)...); err != nil {
		return err
	}
	if a.Door == "" && !q.has(a.Job, a.Nodes) {
		return racef("job %d no longer has %s", a.Job, slurm.Fold(a.Nodes))
	}
	for _, rec := range records {
		text := memo.OwnComment + a.Comment(rec.ID, h.Now())
		if err := h.tell(ctx, rec, text); err != nil {
			return err
		}
		if a.Then != action.Requeue {
			h.notifyTerminal(ctx, rec, text)
		}
	}
	// A job that is held first changes from CONFIGURING to held, and cannot start in between. A cancelled job
	// frees its nodes, and another job that got them would end with power_down_force: asap keeps it off them.
	reason := memo.ReasonPrefix + a.Reason
	switch {
	case a.Then == action.Hold:
		err = h.Slurm.HoldJob(ctx, a.Job)
	case a.Then == action.Cancel && a.Door == "" && len(a.Nodes) > 0:
		err = h.Slurm.UpdateNodes(ctx, a.Nodes, slurm.NodeChange{State: "power_down_asap", Reason: reason})
	}
	if err == nil && a.Then == action.Cancel {
		err = h.Slurm.CancelJob(ctx, a.Job)
	}
	if err != nil {
		return err
	}
	byExtra := map[string][]string{}
	for _, n := range a.Nodes {
		byExtra[a.Extra[n]] = append(byExtra[a.Extra[n]], n)
	}
	for _, extra := range slices.Sorted(maps.Keys(byExtra)) {
		change := slurm.NodeChange{State: "power_down_force", Reason: reason}
		if a.Door != "" { // deleting the door also deletes the machines
			change = slurm.NodeChange{}
		}
		if extra != "" {
			change.Extra = &extra
		}
		if change != (slurm.NodeChange{}) {
			err = cmp.Or(err, h.Slurm.UpdateNodes(ctx, byExtra[extra], change))
		}
	}
	if a.Door == "" || err != nil {
		return err
	}
	return h.deleteReservation(ctx, action.DeleteReservation{OfReservation: action.OfReservation{Name: a.Door}, Job: a.Job, Address: a.Address, Unused: a.Unused})
}

// signalJob signals a running batch script if its owner still wants the signal. An interactive job
// gets a warning on its terminal instead. Nothing is sent if another process has warned the job of
// this end. The AdminComment announces the warning first and confirms it afterwards. A signal that
// was sent never counts as a failed action: it may have ended the job, and Slurm rejects changes to
// the AdminComment of an ended job.
func (h Hands) signalJob(ctx context.Context, a action.SignalJob) error {
	rec, err := h.record(ctx, a.Job)
	if rec == nil || rec.State != slurm.JobRunning {
		return err
	}
	if memo.WasWarned(rec.AdminComment, a.Text) {
		h.Memory.Told.Replace(rec.ID, rec.AdminComment)
		return nil
	}
	switch {
	case a.Signal == "" && !rec.Batch: // its owner waits in salloc or srun
		err = h.Slurm.NotifyJob(ctx, a.Job, a.Because())
	case a.Signal != "" && rec.Batch && memo.AsksSignal(rec.Comment):
		err = h.Slurm.SignalJob(ctx, a.Job, a.Signal)
	default:
		return nil
	}
	if err != nil {
		return err
	}
	if err := h.tell(ctx, *rec, a.Text); err != nil {
		h.Memory.Told.Replace(a.Job, a.Text)
		h.Log.Warn("the job was warned, but its AdminComment was not updated", zap.Uint32("job", a.Job), zap.String("signal", a.Signal), zap.Error(err))
	}
	return nil
}

// requeueJob requeues a running job, unless Slurm would no longer requeue it.
func (h Hands) requeueJob(ctx context.Context, a action.RequeueJob) error {
	rec, err := h.record(ctx, a.Job)
	if rec == nil || rec.State != slurm.JobRunning || !rec.Requeues() {
		return err
	}
	return h.Slurm.RequeueJob(ctx, a.Job)
}

// endJob requeues or cancels a job that still has nodes. It fails if the job should be requeued but
// Slurm would no longer requeue it. The owner is notified first: while Slurm cannot write the
// AdminComment, the job waits for the next look.
func (h Hands) endJob(ctx context.Context, a action.EndJob) error {
	rec, err := h.record(ctx, a.Job)
	if rec == nil || !rec.State.HoldsNodes() {
		return err
	}
	done, end := memo.Done{Deed: memo.Requeued, At: h.Now(), Reason: a.Because()}, h.Slurm.RequeueJob
	switch {
	case a.Then == action.Cancel:
		done.Deed, end = memo.Cancelled, h.Slurm.CancelJob
	case !rec.Requeues():
		return fmt.Errorf("job %d would be lost by now", a.Job)
	}
	if err := h.tell(ctx, *rec, memo.OwnComment+done.String()); err != nil {
		return err
	}
	return end(ctx, a.Job)
}

// tellJob notifies a job's owner in the AdminComment, and on the job's terminal or in its output. It
// writes the AdminComment first, because a failed action is repeated.
func (h Hands) tellJob(ctx context.Context, a action.TellJob) error {
	rec, err := h.record(ctx, a.Job)
	if rec == nil || !rec.State.HoldsNodes() && !rec.State.Waits() {
		return err
	}
	text := memo.OwnComment + a.Because()
	if err := h.tell(ctx, *rec, text); err != nil {
		return err
	}
	h.notify(ctx, a.Job, text)
	return nil
}
