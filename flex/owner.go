package flex

import (
	"context"
	"maps"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"slurmflex/flex/plan"
	"slurmflex/slurm"
)

// grace is how long the owner of a job that Slurm would not requeue has been
// told before anything is taken from it.
const grace = time.Minute

// owners remembers what the owners of jobs were told. What is forgotten in a
// restart is told again.
type owners struct {
	mu     sync.Mutex
	told   map[uint32]string    // the AdminComment
	warned map[uint32]time.Time // jobs that would be lost: when their owner was told
}

// keep forgets the jobs that are not in the queue any more, and returns what
// the planner should know of the others.
func (o *owners) keep(jobs []slurm.Job) (told map[uint32]string, keeps map[uint32]bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	queued := make(map[uint32]bool, len(jobs))
	for _, j := range jobs {
		queued[j.ID] = true
	}
	maps.DeleteFunc(o.told, func(id uint32, _ string) bool { return !queued[id] })
	maps.DeleteFunc(o.warned, func(id uint32, _ time.Time) bool { return !queued[id] })
	keeps = make(map[uint32]bool, len(o.warned))
	for id := range o.warned {
		keeps[id] = true
	}
	return maps.Clone(o.told), keeps
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

func (o *owners) remembers(job uint32) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, told := o.told[job]
	return told
}

// warn notes that a job's owner is told of a loss to come, and returns when that
// was first.
func (o *owners) warn(job uint32, now time.Time) (first time.Time, already bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.warned == nil {
		o.warned = map[uint32]time.Time{}
	}
	first, already = o.warned[job]
	if !already {
		o.warned[job] = now
		first = now
	}
	return first, already
}

// tell writes a job's AdminComment, unless somebody else has written one.
func (r *Reconciler) tell(ctx context.Context, rec slurm.JobRecord, text string) error {
	if rec.AdminComment == "" || strings.HasPrefix(rec.AdminComment, plan.OwnComment) {
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

// giveBack first tells, then acts. A job that Slurm would not requeue is only
// told; it loses its nodes, after a grace, where nothing could ever help it.
func (r *Reconciler) giveBack(ctx context.Context, a plan.GiveBack) error {
	rec, there, err := r.record(ctx, a.Job)
	if err != nil || !there {
		return err
	}
	text := plan.OwnComment + a.Reason
	if err := r.tell(ctx, rec, text); err != nil {
		return err
	}
	if !rec.Batch || !rec.Requeue {
		first, already := r.owners.warn(a.Job, r.Now())
		if !already {
			if err := r.Scheduler.NotifyJob(ctx, a.Job, text); err != nil {
				return err
			}
		}
		if !a.Hopeless || r.Now().Sub(first) < grace {
			return nil
		}
	}
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
	change := slurm.NodeChange{State: "power_down_force", Reason: plan.ReasonPrefix + a.Reason}
	return r.Scheduler.UpdateNodes(ctx, a.Nodes, change)
}

// recall reads what an earlier process has told the jobs that the plan would
// tell something, and reports whether that changes anything.
func (r *Reconciler) recall(ctx context.Context, p plan.Plan) bool {
	var ids []uint32
	for _, a := range p.Actions {
		if t, ok := a.(plan.TellJob); ok && !r.owners.remembers(t.Job) {
			ids = append(ids, t.Job)
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
		r.owners.noteTold(rec.ID, rec.AdminComment)
	}
	return len(records) > 0
}

// record reads a job's record; there is false if the job has gone.
func (r *Reconciler) record(ctx context.Context, job uint32) (rec slurm.JobRecord, there bool, err error) {
	records, err := r.Scheduler.JobRecords(ctx, []uint32{job})
	if err != nil || len(records) == 0 {
		return slurm.JobRecord{}, false, err
	}
	return records[0], true, nil
}
