package flex

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"go.uber.org/zap"

	"slurmflex/flex/plan"
	"slurmflex/flex/plan/memo"
	"slurmflex/slurm"
)

// owners remembers what the owners of jobs were told. What is forgotten in a
// restart is told again.
type owners struct {
	mu   sync.Mutex
	told map[uint32]string // the AdminComment
}

// keep forgets the jobs that are not in the queue any more, and returns what
// the owners of the others were told.
func (o *owners) keep(jobs []slurm.Job) map[uint32]string {
	o.mu.Lock()
	defer o.mu.Unlock()
	queued := make(map[uint32]bool, len(jobs))
	for _, j := range jobs {
		queued[j.ID] = true
	}
	maps.DeleteFunc(o.told, func(id uint32, _ string) bool { return !queued[id] })
	return maps.Clone(o.told)
}

// noteTold remembers a job's AdminComment.
func (o *owners) noteTold(job uint32, text string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.told == nil {
		o.told = map[uint32]string{}
	}
	o.told[job] = text
}

// last is what a job's owner was told last, if that is remembered.
func (o *owners) last(job uint32) (text string, remembered bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	text, remembered = o.told[job]
	return text, remembered
}

// tell writes a job's AdminComment, unless somebody else has written one.
func (r *Reconciler) tell(ctx context.Context, rec slurm.JobRecord, text string) error {
	if rec.AdminComment == "" || strings.HasPrefix(rec.AdminComment, memo.OwnComment) {
		if err := r.Scheduler.SetAdminComment(ctx, rec.ID, text); err != nil {
			return err
		}
	}
	r.owners.noteTold(rec.ID, text)
	return nil
}

// tellJob tells a job's owner something, if the job is there still.
func (r *Reconciler) tellJob(ctx context.Context, a plan.TellJob) error {
	rec, there, err := r.record(ctx, a.Job)
	if err != nil || !there {
		return err
	}
	return r.tell(ctx, rec, a.Text)
}

// ErrOnlyTold says that nodes were not given back: the owner of a job that would
// be lost by it has been told, and the job keeps them for now.
var ErrOnlyTold = errors.New("the owner was told, and the job keeps its nodes: Slurm would not requeue it")

// giveBack first tells, then acts. Jobs that Slurm would not requeue are only
// told; they lose their nodes, after a grace, where waiting is of no use.
func (r *Reconciler) giveBack(ctx context.Context, a plan.GiveBack) error {
	records, err := r.Scheduler.JobRecords(ctx, append([]uint32{a.Job}, a.Others...))
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(records, func(rec slurm.JobRecord) bool { return rec.ID == a.Job }) {
		return nil // it has gone
	}
	for _, rec := range records { // since the round looked: nodes that have come up late are nobody's to take
		if rec.State == slurm.JobRunning {
			return fmt.Errorf("job %d has begun", rec.ID)
		}
	}
	spared := false
	var refused error
	for _, rec := range records {
		if requeues(rec) {
			continue
		}
		warned := r.isWarned(rec)
		if !warned {
			refused = cmp.Or(refused, r.warn(ctx, rec, a.Reason))
		}
		spared = spared || !warned || !a.Hopeless
	}
	if refused != nil {
		return refused
	}
	if spared {
		return ErrOnlyTold
	}
	if records, err = r.withComponents(ctx, records); err != nil {
		return err
	}
	for _, rec := range records {
		if err := r.tell(ctx, rec, memo.OwnComment+a.Reason); err != nil {
			r.Log.Warn("AdminComment not set; the nodes go back all the same", zap.Uint32("job", rec.ID), zap.Error(err))
		}
	}
	return r.takeBack(ctx, a)
}

// withComponents adds the records of the other components of heterogeneous jobs
// that have not ended: Slurm takes such a job back as a whole.
func (r *Reconciler) withComponents(ctx context.Context, records []slurm.JobRecord) ([]slurm.JobRecord, error) {
	var missing []uint32
	for _, rec := range records {
		missing = append(missing, rec.HetIDs...)
	}
	missing = slices.DeleteFunc(missing, func(id uint32) bool {
		return slices.ContainsFunc(records, func(rec slurm.JobRecord) bool { return rec.ID == id })
	})
	if len(missing) == 0 {
		return records, nil
	}
	others, err := r.Scheduler.JobRecords(ctx, missing)
	for _, rec := range others {
		if rec.State == slurm.JobConfiguring || rec.State == slurm.JobRunning {
			records = append(records, rec)
		}
	}
	return records, err
}

// takeBack takes the nodes of a job that has been told.
func (r *Reconciler) takeBack(ctx context.Context, a plan.GiveBack) (err error) {
	// Held first, it goes from CONFIGURING to held, and cannot start in between.
	switch a.Then {
	case plan.Hold:
		err = r.Scheduler.HoldJob(ctx, a.Job)
	case plan.Cancel:
		err = r.Scheduler.CancelJob(ctx, a.Job)
	}
	if err != nil {
		return err
	}
	byExtra := map[string][]string{}
	for _, n := range a.Nodes {
		byExtra[a.Extra[n]] = append(byExtra[a.Extra[n]], n)
	}
	for _, extra := range slices.Sorted(maps.Keys(byExtra)) {
		change := slurm.NodeChange{State: "power_down_force", Reason: memo.ReasonPrefix + a.Reason}
		if extra != "" {
			change.Extra = &extra
		}
		err = cmp.Or(err, r.Scheduler.UpdateNodes(ctx, byExtra[extra], change))
	}
	return err
}

// isWarned reports whether a job's owner has been told that it would be lost.
func (r *Reconciler) isWarned(rec slurm.JobRecord) bool {
	text, remembered := r.owners.last(rec.ID)
	if !remembered {
		text = r.toldBefore(rec)
	}
	_, warned := memo.WarnedAt(text)
	return warned
}

// warn tells a job's owner, also on the terminal, what would become of it.
func (r *Reconciler) warn(ctx context.Context, rec slurm.JobRecord, reason string) error {
	if err := r.Scheduler.NotifyJob(ctx, rec.ID, memo.OwnComment+reason); err != nil {
		return err
	}
	return r.tell(ctx, rec, memo.Warning(r.Now(), reason))
}

// recall reads what an earlier process has told the jobs that the plan would
// tell something, or insert instances for, and reports whether that changes anything.
func (r *Reconciler) recall(ctx context.Context, p plan.Plan) bool {
	var ids []uint32
	for _, a := range p.Actions {
		var of []uint32
		switch a := a.(type) {
		case plan.TellJob:
			of = []uint32{a.Job}
		case plan.GiveBack:
			of = append([]uint32{a.Job}, a.Others...)
		case plan.BulkInsert: // whose occasion follows from what has failed
			of = []uint32{a.Spec.Stamp.Job}
		case plan.CreateGroup: // whose failures are counted on
			of = []uint32{a.Spec.Stamp.Job}
		}
		for _, id := range of {
			if _, remembered := r.owners.last(id); !remembered && id != 0 {
				ids = append(ids, id)
			}
		}
	}
	if len(ids) == 0 {
		return false
	}
	records, err := r.Scheduler.JobRecords(ctx, ids)
	if err != nil {
		r.Log.Debug("job records not read", zap.Error(err)) // they are told once more
	}
	for _, rec := range records {
		r.owners.noteTold(rec.ID, r.toldBefore(rec))
	}
	return len(records) > 0
}

// toldBefore is what an earlier process has told a job's owner, as its
// AdminComment has it. A program of the site may have copied a user's text into
// that, so a warning there may make nobody worse off, and nobody immune: it
// counts only for a job that Slurm would not requeue, which gets one anyway,
// and not from the future.
func (r *Reconciler) toldBefore(rec slurm.JobRecord) string {
	at, warned := memo.WarnedAt(rec.AdminComment)
	if warned && (requeues(rec) || at.After(r.Now())) {
		return ""
	}
	return rec.AdminComment
}

// requeues reports whether Slurm puts the job back into the queue when it loses
// its nodes.
func requeues(rec slurm.JobRecord) bool { return rec.Batch && rec.Requeue }

// record reads a job's record; there is false if the job has gone.
func (r *Reconciler) record(ctx context.Context, job uint32) (rec slurm.JobRecord, there bool, err error) {
	records, err := r.Scheduler.JobRecords(ctx, []uint32{job})
	if err != nil || len(records) == 0 {
		return slurm.JobRecord{}, false, err
	}
	return records[0], true, nil
}
