package flex

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"slurmflex/flex/leader"
	"slurmflex/flex/plan"
	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/scene"
	"slurmflex/flex/takedown"
)

// Down tears down a cluster or a nodeset. It looks and acts repeatedly, each time under the lock,
// so that passes of the daemon and of cron can run in between. Those passes learn of the takedown
// from Slurm: they request nothing for partitions in which no job can start. If a Down is killed,
// the next Down continues from the state that it finds.
type Down struct {
	R       *Reconciler
	Lock    leader.Lock // without a Permission if Slurm does not answer
	Options takedown.Options
	// ClosePartition stops a partition from starting jobs.
	ClosePartition func(ctx context.Context, name string) error
	Say            func(takedown.Plan) // is called with the result of each look; nil: not called

	mu   sync.Mutex      // guards the fields below
	done int             // actions that have succeeded
	told map[uint32]bool // jobs with owners that were notified
}

// stuckAfter is the number of consecutive looks without progress after which Run stops: no action
// succeeded between them, and nothing was under way.
const stuckAfter = 5

// Run tears everything down and returns what is left: nothing, or what further waiting or retries
// would not remove. With an error it returns what the last successful look found.
func (d *Down) Run(ctx context.Context) (left takedown.Plan, err error) {
	for idle, pause := 0, soonest; ; pause = min(2*pause, latest) {
		var before, done int
		before, d.Options.Told = d.soFar()
		var seen takedown.Plan
		seen, err = d.pass(ctx)
		if err == nil {
			left = seen
		}
		done, _ = d.soFar()
		switch {
		case errors.Is(err, leader.ErrNotSlurmUser), errors.Is(err, leader.ErrStandby):
			return left, err
		case err == nil && left.Done():
			return left, nil
		case errors.Is(err, leader.ErrQueued): // the queued process makes its pass now
		case done > before:
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
	release, err := d.Lock.Take(ctx, true)
	if err != nil {
		return takedown.Plan{}, err
	}
	defer release()
	if err := d.Lock.Permission.Check(ctx); err != nil {
		return takedown.Plan{}, err
	}
	d.R.sign(d.Lock)
	d.R.flights.Forget()
	s, p, err := d.Look(ctx)
	if err != nil {
		return takedown.Plan{}, err
	}
	due := plan.Plan{Actions: p.Due()}
	if d.Say != nil {
		d.Say(p)
	}
	d.R.Watch.saw(s, due)
	hands := d.R.hands()
	hands.Did, hands.ClosePartition = d.did, d.ClosePartition
	d.R.flights.Apply(ctx, hands, due.Actions, nil, untilEnded)
	return p, nil
}

// did records a successful action, and reports each action.
func (d *Down) did(a action.Action, begun time.Time, took time.Duration, err error) {
	d.R.Watch.did(a, begun, took, err)
	if err != nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.done++
	if tell, ok := a.(action.TellJob); ok {
		if d.told == nil {
			d.told = map[uint32]bool{}
		}
		d.told[tell.Job] = true
	}
}

// soFar returns the number of successful actions and the jobs with owners that were notified.
func (d *Down) soFar() (done int, told map[uint32]bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.done, maps.Clone(d.told)
}

// Look returns the observation and the takedown plan, and changes nothing.
func (d *Down) Look(ctx context.Context) (*scene.Scene, takedown.Plan, error) {
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
		snap, err = d.R.observe(ctx)
	}
	return snap, cmp.Or(err, ctx.Err())
}
