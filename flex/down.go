package flex

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"go.uber.org/zap"

	"slurmflex/flex/apply"
	"slurmflex/flex/leader"
	"slurmflex/flex/plan"
	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/memo"
	"slurmflex/flex/plan/scene"
	"slurmflex/flex/takedown"
)

// PartitionCloser stops partitions from starting jobs.
type PartitionCloser interface {
	ClosePartition(ctx context.Context, name string) error
}

// Down tears down a cluster or a nodeset. It looks and acts repeatedly, each time under the lock,
// so that passes of the daemon and of cron can run in between. Those passes learn of the takedown
// from Slurm: they request nothing for partitions in which no job can start. If a Down is killed,
// the next Down continues from the state that it finds.
type Down struct {
	R          *Reconciler
	Lock       leader.Lock // without a Permission if Slurm does not answer
	Partitions PartitionCloser
	Options    takedown.Options
	Say        func(takedown.Plan) // is called with the result of each look; nil: not called
}

// stuckAfter is the number of consecutive looks without progress after which Run stops: no action
// succeeded between them, and nothing was under way.
const stuckAfter = 5

// Look returns the takedown plan and changes nothing.
func (d *Down) Look(ctx context.Context) (takedown.Plan, error) {
	_, p, err := d.look(ctx)
	return p, err
}

// Run tears everything down and returns what is left: nothing, or what further waiting or retries
// would not remove. With an error it returns what the last successful look found.
func (d *Down) Run(ctx context.Context) (left takedown.Plan, err error) {
	var done deeds
	watch := d.R.Watch
	d.R.more, d.R.Watch = d.act, Watchers{&done}
	if watch != nil {
		d.R.Watch = Watchers{&done, watch}
	}
	defer func() { d.R.more, d.R.Watch = nil, watch }()
	for idle, pause := 0, soonest; ; pause = min(2*pause, latest) {
		var before int
		before, d.Options.Told = done.soFar()
		var seen takedown.Plan
		seen, err = d.pass(ctx)
		if err == nil {
			left = seen
		}
		switch {
		case errors.Is(err, leader.ErrNotSlurmUser), errors.Is(err, leader.ErrStandby):
			return left, err
		case err == nil && left.Done():
			return left, nil
		case errors.Is(err, leader.ErrQueued): // the queued process makes its pass now
		case done.since(before):
			idle, pause = 0, soonest
		case err == nil && len(left.Waits) > 0:
			idle = 0
		default:
			idle++
		}
		if idle == stuckAfter {
			return left, err
		}
		select {
		case <-ctx.Done():
			return left, ctx.Err()
		case <-time.After(pause):
		}
	}
}

// pass looks and acts once, under the lock.
func (d *Down) pass(ctx context.Context) (takedown.Plan, error) {
	release, err := d.Lock.TakeForPart(ctx)
	if err != nil {
		return takedown.Plan{}, err
	}
	defer release()
	if err := d.Lock.Permission.Check(ctx); err != nil {
		return takedown.Plan{}, err
	}
	d.R.sign(d.Lock)
	d.R.flights.Forget()
	s, p, err := d.look(ctx)
	if err != nil {
		return takedown.Plan{}, err
	}
	due := plan.Plan{Actions: p.Due()}
	if d.Say != nil {
		d.Say(p)
	}
	d.R.Watch.Saw(s, due)
	d.R.flights.Apply(ctx, d.R.hands(), due.Actions, nil, 2*apply.Limit)
	return p, nil
}

func (d *Down) look(ctx context.Context) (*scene.Scene, takedown.Plan, error) {
	snap, err := d.observe(ctx)
	if err != nil {
		return nil, takedown.Plan{}, err
	}
	s := scene.Of(d.R.Config, snap)
	p := takedown.Compute(s, d.Options)
	if d.Options.WereUp == nil {
		d.Options.WereUp = map[string]bool{}
	}
	for _, partition := range snap.Partitions {
		if partition.Begins {
			d.Options.WereUp[partition.Name] = partition.Up
		}
	}
	return s, p, nil
}

// observe reads what a reconcile pass reads. It also reads current partitions, the records of all
// jobs with nodes, and workload policies of earlier configurations.
func (d *Down) observe(ctx context.Context) (snap scene.Snapshot, err error) {
	if d.Options.NoSlurm {
		snap = scene.Snapshot{Begun: d.R.Now(), Compute: scene.Compute{Unseen: map[string]error{}}}
		d.R.observer().ReadCloud(ctx, &snap)
	} else {
		d.R.memory.StartOver()
		d.R.AllPolicies = true
		snap, err = d.R.Observe(ctx)
	}
	return snap, cmp.Or(err, ctx.Err())
}

// act executes the actions that only a takedown plans.
func (d *Down) act(ctx context.Context, a action.Action) error {
	switch a := a.(type) {
	case takedown.ClosePartition:
		return d.Partitions.ClosePartition(ctx, a.Name)
	case takedown.EndJob:
		return d.endJob(ctx, a)
	case takedown.TellJob:
		return d.tellJob(ctx, a)
	}
	return fmt.Errorf("%T is not a known action", a)
}

// endJob requeues or cancels a job that still has nodes. It fails if the job should be requeued but
// Slurm would no longer requeue it. The owner is notified first: while Slurm cannot write the
// AdminComment, the job waits for the next look.
func (d *Down) endJob(ctx context.Context, a takedown.EndJob) error {
	hands := d.R.hands()
	rec, err := hands.Record(ctx, a.Job)
	if rec == nil || !rec.State.HoldsNodes() {
		return err
	}
	done := memo.Done{Deed: memo.Requeued, At: d.R.Now(), Reason: a.Because()}
	if a.Then == action.Cancel {
		done.Deed = memo.Cancelled
	}
	if a.Then == action.Requeue && !rec.Requeues() {
		return fmt.Errorf("job %d would be lost by now", a.Job)
	}
	if err := hands.Tell(ctx, *rec, memo.OwnComment+done.String()); err != nil {
		return err
	}
	if a.Then == action.Cancel {
		return d.R.Scheduler.CancelJob(ctx, a.Job)
	}
	return d.R.Scheduler.RequeueJob(ctx, a.Job)
}

// tellJob notifies a job's owner in the AdminComment, and on the job's terminal or in its output. It
// writes the AdminComment first, because a failed action is repeated.
func (d *Down) tellJob(ctx context.Context, a takedown.TellJob) error {
	hands := d.R.hands()
	rec, err := hands.Record(ctx, a.Job)
	if rec == nil || !rec.State.HoldsNodes() && !rec.State.Waits() {
		return err
	}
	text := memo.OwnComment + a.Because()
	if err := hands.Tell(ctx, *rec, text); err != nil {
		return err
	}
	if err := d.R.Scheduler.NotifyJob(ctx, a.Job, text); err != nil {
		d.R.Log.Debug("terminal of a job not notified", zap.Uint32("job", a.Job), zap.Error(err))
	}
	return nil
}

// deeds is a Watcher that remembers successful actions.
type deeds struct {
	mu    sync.Mutex
	count int
	told  map[uint32]bool // jobs with owners that were notified
}

// soFar returns the number of successful actions and the jobs with owners that were notified.
func (d *deeds) soFar() (count int, told map[uint32]bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.count, maps.Clone(d.told)
}

// since reports whether an action has succeeded since there were that many.
func (d *deeds) since(before int) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.count > before
}

// Saw does nothing.
func (*deeds) Saw(*scene.Scene, plan.Plan) {}

// Did records a successful action.
func (d *deeds) Did(a action.Action, _ time.Time, _ time.Duration, err error) {
	if err != nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.count++
	if tell, ok := a.(takedown.TellJob); ok {
		if d.told == nil {
			d.told = map[uint32]bool{}
		}
		d.told[tell.Job] = true
	}
}

// Stood does nothing.
func (*deeds) Stood(error) {}
