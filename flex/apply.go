package flex

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"slurmflex/flex/plan"
	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/demand"
	"slurmflex/flex/plan/memo"
	"slurmflex/mig"
)

// actionLimit bounds one action. Compute may take over a minute to validate a resize request. The
// next pass finds everything that was not done by then.
const actionLimit = 3 * time.Minute

// flights are the action queues in progress. A queue in progress is not started again, and no two
// flights request the same instance. Both rules hold until the next pass starts to look, even if
// the flight has ended: the current pass may have looked too early to see the flight's results.
// Only the pass itself uses flights.
type flights struct {
	queues map[string]*flight
	failed atomic.Int64 // actions that failed since the last count
}

// flight is one queue in progress.
type flight struct {
	actions []action.Action
	asks    []string      // instances that the queue requests
	ended   chan struct{} // closed when the flight has ended
}

// apply starts the plan's queues in parallel and waits until all flights have ended or patience has
// elapsed. Remaining flights continue during the next passes. It returns the number of actions that
// failed since its last call.
func (r *Reconciler) apply(ctx context.Context, p plan.Plan, patience time.Duration) (failed int) {
	for _, f := range r.flights.begin(p.Actions) {
		go func() {
			r.flights.failed.Add(int64(r.work(ctx, f.actions)))
			close(f.ended)
		}()
	}
	if landed := r.flights.landed(); landed != nil {
		select {
		case <-landed:
		case <-time.After(patience):
		}
	}
	return int(r.flights.failed.Swap(0))
}

// begin records the queues of actions as flights and returns them in order. It skips queues that
// are already in progress and queues that request an instance that another flight requests.
func (f *flights) begin(actions []action.Action) (begun []*flight) {
	var order []string
	queues, asked := map[string]*flight{}, map[string]bool{}
	for _, q := range f.queues {
		for _, name := range q.asks {
			asked[name] = true
		}
	}
	for _, a := range actions {
		q := queues[a.Queue()]
		if q == nil {
			q = &flight{ended: make(chan struct{})}
			queues[a.Queue()], order = q, append(order, a.Queue())
		}
		q.actions = append(q.actions, a)
		if c, ok := a.(action.CreateRequest); ok {
			q.asks = append(q.asks, c.Spec.Instances...)
		}
	}
	if f.queues == nil {
		f.queues = map[string]*flight{}
	}
	for _, name := range order {
		q := queues[name]
		if f.queues[name] != nil || slices.ContainsFunc(q.asks, func(name string) bool { return asked[name] }) {
			continue
		}
		for _, name := range q.asks {
			asked[name] = true
		}
		f.queues[name], begun = q, append(begun, q)
	}
	return begun
}

// forget drops the flights that have ended. A pass that starts to look now sees their results.
func (f *flights) forget() {
	maps.DeleteFunc(f.queues, func(_ string, q *flight) bool { return q.hasEnded() })
}

// asking returns the instances that current flights request.
func (f *flights) asking() map[string]bool {
	names := map[string]bool{}
	for _, q := range f.queues {
		if q.hasEnded() {
			continue
		}
		for _, name := range q.asks {
			names[name] = true
		}
	}
	return names
}

// landed returns a channel that is closed when the last flight has ended; nil without flights.
func (f *flights) landed() <-chan struct{} {
	flying := slices.DeleteFunc(slices.Collect(maps.Values(f.queues)), (*flight).hasEnded)
	if len(flying) == 0 {
		return nil
	}
	landed := make(chan struct{})
	go func() {
		for _, q := range flying {
			<-q.ended
		}
		close(landed)
	}()
	return landed
}

func (f *flight) hasEnded() bool {
	select {
	case <-f.ended:
		return true
	default:
		return false
	}
}

// work executes the actions of one queue in order. It skips actions with a retry that is not due
// yet, and actions that depend on a skipped or failed action. If an action fails after actionLimit,
// the whole queue ends: the cause is then more likely a hang than a rejection. It returns the
// number of undone actions, not counting retries that are not due.
func (r *Reconciler) work(ctx context.Context, actions []action.Action) (failed int) {
	began := r.Now()
	var left []action.Action
	for i, a := range actions {
		if !r.memory.Retries.IsDue(a, r.Now()) {
			left = append(left, a)
			continue
		}
		if slices.ContainsFunc(left, func(undone action.Action) bool { return action.Needs(a, undone) }) {
			left, failed = append(left, a), failed+1
			continue
		}
		begun := r.Now()
		actx, cancel := context.WithTimeout(ctx, actionLimit)
		err := r.act(actx, a)
		cancel()
		took := r.Now().Sub(begun)
		if r.Watch != nil {
			r.Watch.Did(a, begun, took, err)
		}
		r.logAction(a, took, err)
		if slurm, _ := inSlurm(a.About().Kind); slurm {
			r.memory.Retries.Note(a, err, r.Now())
		}
		switch {
		case err == nil:
		case r.Now().Sub(began) >= actionLimit:
			return failed + len(actions) - i
		default:
			left, failed = append(left, a), failed+1
		}
	}
	return failed
}

// act executes one action. Creating something that exists and deleting something that does not
// exist succeed.
func (r *Reconciler) act(ctx context.Context, a action.Action) error {
	switch a := a.(type) {
	case action.CreateGroup:
		return r.createGroup(ctx, a)
	case action.CreateRequest:
		return r.createRequest(ctx, a)
	case action.CancelRequest:
		r.memory.Made.DropRequest(a.Group.Region, a.Group.Name, a.Request)
		return unlessGone(r.Cloud.CancelRequest(ctx, a.Group.Region, a.Group.Name, a.Request))
	case action.DeleteRequest:
		return unlessGone(r.Cloud.DeleteRequest(ctx, a.Group.Region, a.Group.Name, a.Request))
	case action.DeleteInstances:
		return unlessGone(r.Cloud.DeleteInstances(ctx, a.Group.Region, a.Group.Name, a.Instances))
	case action.DeleteVMs:
		r.memory.Made.Forget("", "", mig.Names(a.Instances))
		return r.Cloud.DeleteVMs(ctx, a.Instances)
	case action.BulkInsert:
		return r.bulkInsert(ctx, a)
	case action.CreatePolicy:
		err := r.Cloud.CreatePolicy(ctx, a.Spec)
		r.noteOutcome(a.Spec.Name, a.Spec.Stamp.Job, err)
		return lookAgain(err)
	case action.DeletePolicy:
		return unlessGone(r.Cloud.DeletePolicy(ctx, a.Group.Region, a.Group.Name))
	case action.DeleteGroup:
		r.memory.Made.Forget(a.Group.Region, a.Group.Name, nil)
		return unlessGone(r.Cloud.DeleteGroup(ctx, a.Group.Region, a.Group.Name))
	case action.SetNodes:
		return r.setNodes(ctx, a)
	case action.CreateReservation:
		return r.createReservation(ctx, a)
	case action.SetReservation:
		return r.setReservation(ctx, a)
	case action.DeleteReservation:
		return r.deleteReservation(ctx, a)
	case action.UseReservation:
		return r.useReservation(ctx, a)
	case action.CommentJob:
		return r.commentJob(ctx, a)
	case action.ReturnNodes:
		return r.returnNodes(ctx, a)
	case action.SignalJob:
		return r.signalJob(ctx, a)
	case action.RequeueJob:
		return r.requeueJob(ctx, a)
	}
	if r.more == nil {
		return fmt.Errorf("%T is not a known action", a)
	}
	return r.more(ctx, a)
}

func (r *Reconciler) createGroup(ctx context.Context, a action.CreateGroup) error {
	err := r.Cloud.CreateGroup(ctx, a.Spec)
	r.noteOutcome(a.Spec.Name, a.Spec.Stamp.Job, err)
	if err == nil {
		r.memory.Made.NoteGroup(a.Spec, r.Now())
	}
	return lookAgain(err)
}

func (r *Reconciler) createRequest(ctx context.Context, a action.CreateRequest) error {
	// The request is recorded before the call, for a pass that looks meanwhile.
	r.memory.Made.NoteRequest(a.Group.Region, a.Group.Name, a.Spec, r.Now())
	err := r.Cloud.CreateRequest(ctx, a.Group.Region, a.Group.Name, a.Spec)
	switch {
	case mig.CauseOf(err) == mig.CauseExists:
		return nil
	case mig.CauseOf(err) == mig.CauseNotFound:
		r.memory.Made.Forget(a.Group.Region, a.Group.Name, nil)
	case err != nil:
		r.memory.Made.DropRequest(a.Group.Region, a.Group.Name, a.Spec.Name)
	}
	if !a.Shared {
		r.noteOutcome(a.Group.Name, a.Job, err)
		return err
	}
	for _, node := range a.Spec.Instances {
		r.noteOutcome(demand.Outcome(a.Group.Name, node), a.Job, err)
	}
	return err
}

func (r *Reconciler) bulkInsert(ctx context.Context, a action.BulkInsert) error {
	r.memory.Made.NoteInserted(a.Spec.Instances, r.Now())
	err := r.Cloud.BulkInsert(ctx, a.Spec)
	if cause := mig.CauseOf(err); err != nil && cause != mig.CauseUnavailable {
		r.memory.Made.Forget("", "", a.Spec.Instances)
	}
	r.noteOutcome(a.Group.Name, a.Spec.Stamp.Job, err)
	return err
}

// noteOutcome records the outcome of creating something for a job's group. Failures that an earlier
// process saw are in the job's AdminComment.
func (r *Reconciler) noteOutcome(group string, job uint32, err error) {
	known := r.memory.Owners.Last(job)
	r.memory.Refusals.Note(group, err, r.Now(), memo.ParseFailed(known.Told))
}

// lookAgain adds the next step to the error for a name that is already taken. The existing thing
// may be the cluster's own, from an interrupted pass, or foreign. Its ownership stamp decides when
// the next pass reads it.
func lookAgain(err error) error {
	if mig.CauseOf(err) == mig.CauseExists {
		return fmt.Errorf("look at it again: %w", err)
	}
	return err
}

func unlessGone(err error) error {
	if mig.CauseOf(err) == mig.CauseNotFound {
		return nil
	}
	return err
}

// inSlurm reports whether Slurm executes a kind of action. memory.Retries delays changes that Slurm
// rejected; the planner delays changes that Compute rejected.
func inSlurm(kind string) (slurm, known bool) {
	slurm, known = map[string]bool{
		"create_group":       false,
		"create_request":     false,
		"cancel_request":     false,
		"delete_request":     false,
		"delete_instances":   false,
		"delete_group":       false,
		"bulk_insert":        false,
		"delete_vms":         false,
		"create_policy":      false,
		"delete_policy":      false,
		"set_nodes":          true,
		"create_reservation": true,
		"set_reservation":    true,
		"delete_reservation": true,
		"use_reservation":    true,
		"comment_job":        true,
		"return_nodes":       true,
		"signal_job":         true,
		"requeue_job":        true,
		"change_partitions":  true,
	}[kind]
	return slurm, known
}
