package flex

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"slurmflex/config"
	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/memo"
	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
)

// observeOwners reads the missing records of jobs with one call: of pending jobs with a door, of
// jobs on flex nodes that are powering up, and of jobs on flex nodes with salvage. In the first
// pass of a process, it also reads the records of all other jobs on flex nodes, and of pending jobs
// that were requeued or held.
func (r *Reconciler) observeOwners(ctx context.Context, snap *scene.Snapshot) {
	rising := make(map[string]bool, len(snap.Nodes))
	for _, n := range snap.Nodes {
		rising[n.Name] = n.State.Power() == slurm.Rising
	}
	doors := map[string]bool{}
	for _, held := range snap.Reservations {
		if h := memo.ParseHold(r.Config.Cluster, held.Name); h.Kind == memo.DoorHold {
			doors[h.Address] = true
		}
	}
	var ids []uint32
	for _, j := range snap.Jobs {
		if j.State.Waits() && !r.memory.Owners.Last(j.ID).Read && !j.IsTasks() &&
			(doors[j.Address()] || snap.Begun.Equal(snap.Started) && r.isBack(j, snap.Begun)) {
			ids = append(ids, j.ID)
		}
		if !r.memory.Owners.Last(j.ID).Read && j.State.HoldsNodes() && slices.ContainsFunc(j.Nodes, func(name string) bool {
			set, _, ok := r.Config.Find(name)
			return ok && set.Flex != nil && (rising[name] || set.Flex.Salvage || snap.Begun.Equal(snap.Started))
		}) {
			ids = append(ids, j.ID)
		}
	}
	if _, err := r.memory.Owners.Read(ctx, r.Scheduler, ids...); err != nil {
		// Those jobs are not returned to Slurm, and the next pass reads their records.
		r.Log.Debug("job records not read", zap.Error(err))
	}
}

// requeuePause is slightly longer than the time for which Slurm keeps a requeued job from starting.
const requeuePause = 3 * time.Minute

// isBack reports whether a pending job of a partition with flex-start nodes is held or was just
// requeued.
func (r *Reconciler) isBack(j slurm.Job, now time.Time) bool {
	if j.Reason != "JobHeldAdmin" && (j.Reason != slurm.BeginTime || j.Start.Sub(now) > requeuePause) {
		return false
	}
	return slices.ContainsFunc(r.Config.Partitions, func(p config.Partition) bool {
		return slices.Contains(strings.Split(j.Partition, ","), p.Name) && r.Config.IsOurs(p)
	})
}

// tell writes a job's AdminComment, unless it holds a comment by another author.
func (r *Reconciler) tell(ctx context.Context, rec slurm.JobRecord, text string) error {
	if memo.MayWrite(rec.AdminComment) {
		if err := r.Scheduler.SetAdminComment(ctx, rec.ID, text); err != nil {
			return err
		}
	}
	r.memory.Owners.NoteTold(rec.ID, text)
	return nil
}

// commentJob writes a job's AdminComment if the job still exists. The first comment also appears on
// the terminal of a salloc or srun, which prints nothing while waiting.
func (r *Reconciler) commentJob(ctx context.Context, a action.CommentJob) error {
	records, err := r.memory.Owners.Read(ctx, r.Scheduler, a.Job)
	if err != nil || len(records) == 0 {
		return err
	}
	rec := records[0]
	if err := r.tell(ctx, rec, a.Text); err != nil {
		return err
	}
	if rec.AdminComment == "" && rec.State != slurm.JobRunning {
		r.notifyTerminal(ctx, rec, a.Text)
	}
	return nil
}

// notifyTerminal writes to the terminal of a salloc or srun.
func (r *Reconciler) notifyTerminal(ctx context.Context, rec slurm.JobRecord, text string) {
	if rec.Batch {
		return
	}
	if err := r.Scheduler.NotifyJob(ctx, rec.ID, text); err != nil {
		r.Log.Debug("terminal of a job not notified", zap.Uint32("job", rec.ID), zap.Error(err))
	}
}

// returnNodes notifies the owners, then returns the nodes to Slurm, unless the jobs have changed
// since the plan was made. The nodes lack a working machine, so nothing is lost while the owners
// cannot be notified.
func (r *Reconciler) returnNodes(ctx context.Context, a action.ReturnNodes) error {
	records, err := r.memory.Owners.Read(ctx, r.Scheduler, append([]uint32{a.Job}, a.Others...)...)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(records, func(rec slurm.JobRecord) bool { return rec.ID == a.Job }) {
		return nil // the job no longer exists
	}
	for _, rec := range records {
		switch {
		case rec.State == slurm.JobRunning: // late nodes of a running job must not be taken
			return fmt.Errorf("job %d has started", rec.ID)
		case a.Door == "" && a.Then != action.Cancel && !rec.Requeues():
			return fmt.Errorf("job %d keeps its nodes: Slurm would end it", rec.ID)
		}
	}
	if _, err := r.untaken(ctx, a.Nodes, append([]uint32{a.Job}, a.Others...)...); err != nil {
		return err
	}
	for _, rec := range records {
		text := memo.OwnComment + a.Comment(rec.ID, r.Now())
		if err := r.tell(ctx, rec, text); err != nil {
			return err
		}
		if a.Then != action.Requeue {
			r.notifyTerminal(ctx, rec, text)
		}
	}
	// A job that is held first changes from CONFIGURING to held, and cannot start in between.
	switch a.Then {
	case action.Hold:
		err = r.Scheduler.HoldJob(ctx, a.Job)
	case action.Cancel:
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
		if a.Door != "" { // deleting the door also deletes the machines
			change = slurm.NodeChange{}
		}
		if extra != "" {
			change.Extra = &extra
		}
		if change != (slurm.NodeChange{}) {
			err = cmp.Or(err, r.Scheduler.UpdateNodes(ctx, byExtra[extra], change))
		}
	}
	if a.Door == "" || err != nil {
		return err
	}
	return r.deleteReservation(ctx, action.DeleteReservation{OfReservation: action.OfReservation{Name: a.Door}, Job: a.Job, Unused: a.Unused})
}

// signalJob signals a running batch script if its owner still wants the signal. An interactive job
// gets a warning on its terminal instead. The AdminComment announces the warning first and confirms
// it afterwards. A signal that was sent never counts as a failed action: it may have ended the job,
// and Slurm rejects changes to the AdminComment of an ended job.
func (r *Reconciler) signalJob(ctx context.Context, a action.SignalJob) error {
	records, err := r.memory.Owners.Read(ctx, r.Scheduler, a.Job)
	if err != nil || len(records) == 0 || records[0].State != slurm.JobRunning {
		return err
	}
	rec := records[0]
	switch reach := scene.ReachOf(rec); {
	case a.Signal == "" && reach == scene.ByTerminal:
		err = r.Scheduler.NotifyJob(ctx, a.Job, a.Because())
	case a.Signal != "" && reach == scene.BySignal:
		err = r.Scheduler.SignalJob(ctx, a.Job, a.Signal)
	default:
		return nil
	}
	if err != nil {
		return err
	}
	if err := r.tell(ctx, rec, a.Text); err != nil {
		r.memory.Owners.NoteTold(a.Job, a.Text)
		r.Log.Warn("the job was warned, but its AdminComment was not updated", zap.Uint32("job", a.Job), zap.String("signal", a.Signal), zap.Error(err))
	}
	return nil
}

// requeueJob requeues a running job, unless Slurm would no longer requeue it.
func (r *Reconciler) requeueJob(ctx context.Context, a action.RequeueJob) error {
	records, err := r.memory.Owners.Read(ctx, r.Scheduler, a.Job)
	if err != nil || len(records) == 0 || records[0].State != slurm.JobRunning || !records[0].Requeues() {
		return err
	}
	return r.Scheduler.RequeueJob(ctx, a.Job)
}
