package flex

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"slurmflex/flex/plan"
	"slurmflex/flex/plan/memo"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// actionLimit bounds one action. Compute may take over a minute to validate a
// resize request; what is not done by then is found by the next round.
const actionLimit = 3 * time.Minute

// flights are the queues that are being worked off. A queue in flight is not
// begun again, and no two flights ask for the same instance. That holds for the
// rest of a round also when a flight ends: the round may have looked too early
// to see what came of it.
type flights struct {
	mu     sync.Mutex
	asks   map[string][]string // by queue: the instances that it asks for
	asked  map[string]bool     // these instances
	ended  []string            // queues in asks that have ended
	failed int                 // actions left undone since the last count
	landed chan struct{}       // closed when no queue is in flight any more
}

// apply begins to carry out the plan, queues side by side, and waits until all
// queues in flight have ended or patience is over. What is in flight then goes
// on beside the next rounds. It returns how many actions were left undone since
// it was last called.
func (r *Reconciler) apply(ctx context.Context, p plan.Plan, patience time.Duration) (failed int) {
	queues := map[string][]plan.Action{}
	var order []string
	for _, a := range p.Actions {
		if queues[a.Queue()] == nil {
			order = append(order, a.Queue())
		}
		queues[a.Queue()] = append(queues[a.Queue()], a)
	}
	for _, queue := range order {
		if actions := queues[queue]; r.flights.begin(queue, actions) {
			go func() { r.flights.end(queue, r.work(ctx, actions)) }()
		}
	}
	if landed := r.flights.busy(); landed != nil {
		over := time.NewTimer(patience)
		defer over.Stop()
		select {
		case <-landed:
		case <-over.C:
		}
	}
	return r.flights.count()
}

// forget lets go of the queues that have ended. A round that begins to look now
// sees what came of them.
func (f *flights) forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, queue := range f.ended {
		for _, name := range f.asks[queue] {
			delete(f.asked, name)
		}
		delete(f.asks, queue)
	}
	f.ended = nil
}

// begin notes a queue as in flight, unless it is, or another one asks for one
// of its instances.
func (f *flights) begin(queue string, actions []plan.Action) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, busy := f.asks[queue]; busy {
		return false
	}
	var asks []string
	for _, a := range actions {
		if c, ok := a.(plan.CreateRequest); ok {
			asks = append(asks, c.Spec.Instances...)
		}
	}
	if slices.ContainsFunc(asks, func(name string) bool { return f.asked[name] }) {
		return false
	}
	if f.asks == nil {
		f.asks, f.asked = map[string][]string{}, map[string]bool{}
	}
	if len(f.asks) == len(f.ended) {
		f.landed = make(chan struct{})
	}
	f.asks[queue] = asks
	for _, name := range asks {
		f.asked[name] = true
	}
	return true
}

// asking returns the instances that the queues in flight ask for.
func (f *flights) asking() map[string]bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	names := map[string]bool{}
	for queue, asks := range f.asks {
		if slices.Contains(f.ended, queue) {
			continue
		}
		for _, name := range asks {
			names[name] = true
		}
	}
	return names
}

func (f *flights) end(queue string, undone int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ended = append(f.ended, queue)
	f.failed += undone
	if len(f.asks) == len(f.ended) {
		close(f.landed)
	}
}

// busy returns nil if no queue is in flight, else what is closed when the last
// one ends.
func (f *flights) busy() (landed <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.asks) == len(f.ended) {
		return nil
	}
	return f.landed
}

func (f *flights) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := f.failed
	f.failed = 0
	return n
}

// work does the actions of one queue in their order and returns how many are
// left undone because one failed. That stops the queue, unless it is a change of
// nodes: a plan changes no node twice, so that none depends on another.
func (r *Reconciler) work(ctx context.Context, actions []plan.Action) (undone int) {
	began := r.Now()
	for i, a := range actions {
		_, alone := a.(plan.SetNodes)
		if !r.retries.isDue(a, r.Now()) {
			if alone {
				continue
			}
			return undone
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
		r.retries.note(a, err, r.Now())
		switch {
		case err == nil:
		case alone && r.Now().Sub(began) < actionLimit: // later, slurmctld is more likely to hang than to refuse
			undone++
		default:
			return undone + len(actions) - i
		}
	}
	return undone
}

// logAction writes one line about an action that is over.
func (r *Reconciler) logAction(a plan.Action, took time.Duration, err error) {
	about := a.About()
	var fields []zap.Field
	if about.Job != 0 {
		fields = append(fields, zap.Uint32("job", about.Job))
	}
	if len(about.Nodes) > 0 {
		fields = append(fields, zap.String("nodes", slurm.Fold(about.Nodes)))
	}
	if about.Group != "" {
		fields = append(fields, zap.String("group", about.Group))
	}
	log := r.Log.With(append(fields, zap.String("why", a.Because()), zap.Duration("took", took))...)
	switch {
	case err == nil:
		log.Log(severity(a), a.String())
	default:
		log.Error("failed: "+a.String(), zap.Error(err))
	}
}

// severity is how much an action that was done matters to an admin: one that
// holds or ends a user's job, or could not without its end, is for a person to look
// at, and what a job's owner was told is in the job's AdminComment.
func severity(a plan.Action) zapcore.Level {
	switch a := a.(type) {
	case plan.TellJob:
		return zapcore.DebugLevel
	case plan.WarnJob:
		return zapcore.WarnLevel
	case plan.GiveBack:
		if a.Then != plan.Requeue {
			return zapcore.WarnLevel
		}
	}
	return zapcore.InfoLevel
}

// act does one action. What is there already, or gone already, is done.
func (r *Reconciler) act(ctx context.Context, a plan.Action) error {
	switch a := a.(type) {
	case plan.CreateGroup:
		return r.createGroup(ctx, a)
	case plan.CreateRequest:
		return r.createRequest(ctx, a)
	case plan.CancelRequest:
		r.made.forget(a.Group.Region, a.Group.Name, nil)
		return unlessGone(r.Cloud.CancelRequest(ctx, a.Group.Region, a.Group.Name, a.Request))
	case plan.DeleteRequest:
		return unlessGone(r.Cloud.DeleteRequest(ctx, a.Group.Region, a.Group.Name, a.Request))
	case plan.DeleteInstances:
		return unlessGone(r.Cloud.DeleteInstances(ctx, a.Group.Region, a.Group.Name, a.Instances))
	case plan.DeleteVMs:
		return r.Cloud.DeleteVMs(ctx, a.Instances)
	case plan.BulkInsert:
		return r.bulkInsert(ctx, a)
	case plan.CreatePolicy:
		err := r.Cloud.CreatePolicy(ctx, a.Spec)
		r.noteOutcome(a.Spec.Name, a.Spec.Stamp.Job, err)
		return lookAgain(err)
	case plan.DeletePolicy:
		return unlessGone(r.Cloud.DeletePolicy(ctx, a.Group.Region, a.Group.Name))
	case plan.DeleteGroup:
		r.made.forget(a.Group.Region, a.Group.Name, nil)
		return unlessGone(r.Cloud.DeleteGroup(ctx, a.Group.Region, a.Group.Name))
	case plan.SetNodes:
		change := slurm.NodeChange{State: a.State, Reason: a.Reason, Comment: a.Comment, Extra: a.Extra}
		return r.Scheduler.UpdateNodes(ctx, a.Nodes, change)
	case plan.CreateReservation:
		spec := slurm.ReservationSpec{Name: a.Name, Nodes: a.Nodes, Start: a.Start}
		return r.Scheduler.CreateReservation(ctx, spec)
	case plan.SetReservation:
		return r.Scheduler.SetReservationNodes(ctx, a.Name, a.Nodes)
	case plan.DeleteReservation:
		return r.Scheduler.DeleteReservation(ctx, a.Name)
	case plan.TellJob:
		return r.tellJob(ctx, a)
	case plan.WarnJob:
		return r.warnJob(ctx, a)
	case plan.GiveBack:
		return r.giveBack(ctx, a)
	}
	return fmt.Errorf("%T is not an action that a round knows", a)
}

func (r *Reconciler) createGroup(ctx context.Context, a plan.CreateGroup) error {
	err := r.Cloud.CreateGroup(ctx, a.Spec)
	r.noteOutcome(a.Spec.Name, a.Spec.Stamp.Job, err)
	if err == nil {
		r.made.noteGroup(a.Spec, r.Now())
	}
	return lookAgain(err)
}

func (r *Reconciler) createRequest(ctx context.Context, a plan.CreateRequest) error {
	r.made.noteRequest(a.Group.Region, a.Group.Name, a.Spec, r.Now()) // a round that looks meanwhile counts it
	err := r.Cloud.CreateRequest(ctx, a.Group.Region, a.Group.Name, a.Spec)
	switch {
	case mig.CauseOf(err) == mig.CauseExists:
		return nil
	case mig.CauseOf(err) == mig.CauseNotFound:
		r.made.forget(a.Group.Region, a.Group.Name, nil)
	case err != nil:
		r.made.dropRequest(a.Group.Region, a.Group.Name, a.Spec.Name)
	}
	r.noteOutcome(a.Group.Name, a.Job, err)
	return err
}

func (r *Reconciler) bulkInsert(ctx context.Context, a plan.BulkInsert) error {
	r.made.noteInserted(a.Spec.Instances, r.Now())
	err := r.Cloud.BulkInsert(ctx, a.Spec)
	if cause := mig.CauseOf(err); err != nil && cause != mig.CauseUnavailable {
		r.made.forget("", "", a.Spec.Instances)
	}
	r.noteOutcome(a.Group.Name, a.Spec.Stamp.Job, err)
	return err
}

// noteOutcome remembers what became of creating something for a job's group. What
// an earlier process has seen fail stands in the job's AdminComment.
func (r *Reconciler) noteOutcome(group string, job uint32, err error) {
	known, _ := r.owners.last(job)
	r.refusals.note(group, err, r.Now(), memo.ParseFailed(known.told))
}

// lookAgain is for a thing whose name is taken: it may be our own, made by a
// round that was cut off, or a stranger's. Only the next round's look at its
// stamp tells.
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
