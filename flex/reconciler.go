// Package flex manages a cluster's flex-start nodes. In each pass it observes Slurm and the cloud,
// lets flex/plan decide, and executes the plan. A pass relies only on its own observation, so the
// next pass repairs a lost call, a crash or a manual change.
package flex

import (
	"context"
	"time"

	"go.uber.org/zap"

	"slurmflex/config"
	"slurmflex/flex/apply"
	"slurmflex/flex/memory"
	"slurmflex/flex/observe"
	"slurmflex/flex/plan"
	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/scene"
)

// Scheduler lists the calls to Slurm that a pass makes.
type Scheduler interface {
	observe.Scheduler
	apply.Scheduler
}

// cloud lists the calls to Compute that a pass makes.
type cloud interface {
	observe.Cloud
	apply.Cloud
}

// Reconciler reconciles. Only one pass may run at a time; see leader.Lock.
type Reconciler struct {
	Config    *config.Config
	Scheduler Scheduler
	Cloud     cloud
	Log       *zap.Logger
	Now       func() time.Time
	// Jitter spreads the passes of many clusters over time; nil: up to a seventh sooner.
	Jitter func(time.Duration) time.Duration

	Watch Watchers

	// Spent returns what machines have taken in the present periods of the limits; nil: limits hold back no
	// job.
	Spent func(ctx context.Context, snap *scene.Snapshot, cfg *config.Config) scene.Spent

	// Between delivers functions that Run executes between two passes, for example to change
	// Config.
	Between <-chan func()

	// Promises means that this process makes passes until it ends. Only the daemon does so; it may
	// keep jobs pending while it requests machines for them.
	Promises bool

	// BadHosts returns the failed health checks since then from the history, by physical host; nil: none
	// are known.
	BadHosts func(since time.Time) map[string]scene.BadHost

	Adopt bool // passes also remove leftovers of slurm-gcp's scripts

	AllPolicies bool // passes read workload policies even if no nodeset has placement

	memory  memory.Memory
	flights apply.Flights
	mark    string // that this process left in the lock
}

// observer returns the part of a pass that reads.
func (r *Reconciler) observer() observe.Observer {
	return observe.Observer{
		Config: r.Config, Slurm: r.Scheduler, Cloud: r.Cloud, Memory: &r.memory, Log: r.Log, Now: r.Now,
		Promises: r.Promises, AllPolicies: r.AllPolicies,
	}
}

// hands returns the part of a pass that acts.
func (r *Reconciler) hands() apply.Hands {
	return apply.Hands{Slurm: r.Scheduler, Cloud: r.Cloud, Memory: &r.memory, Log: r.Log, Now: r.Now, Did: r.Watch.did}
}

// observe reads Slurm and the cloud, and adds what this process remembers and does. It fails if Slurm
// cannot be read. The snapshot names each region that cannot be read.
func (r *Reconciler) observe(ctx context.Context) (scene.Snapshot, error) {
	snap := r.memory.Begin(r.Now(), r.Config, r.BadHosts)
	if err := r.observer().Read(ctx, &snap); err != nil {
		// An interrupted reading proves nothing, so it must not look like an empty cluster.
		return scene.Snapshot{}, err
	}
	// The flights are read before the memory adds what they create.
	snap.Asking = r.flights.Asking()
	r.memory.Complete(&snap, r.Config)
	snap.Promises = r.Promises
	if r.Spent != nil {
		snap.Spent = r.Spent(ctx, &snap, r.Config)
	}
	return snap, nil
}

// Outcome is the result of a pass.
type Outcome struct {
	Plan   plan.Plan
	Failed int // actions that failed; the next pass retries them
}

// soon reports whether the next pass should run within seconds, because something under way will
// end without further action.
func (o Outcome) soon() bool { return o.Plan.Soon || o.Failed > 0 }

// pass observes, plans and acts once, and waits until its actions have ended, but no longer than patience.
// It fails only if it cannot observe anything. A failed action is logged and counted, and stops only the
// actions that depend on it.
func (r *Reconciler) pass(ctx context.Context, patience time.Duration, only ...Filter) (Outcome, error) {
	r.flights.Forget()
	s, p, err := r.Look(ctx, only...)
	if err != nil {
		return Outcome{}, err
	}
	r.Watch.saw(s, p)
	r.memory.Report(r.Log, p.Problems, s.Seen)
	return Outcome{Plan: p, Failed: r.flights.Apply(ctx, r.hands(), p.Actions, p.Needed, patience)}, nil
}

// Look returns the observation and the plan of a pass, and changes nothing.
func (r *Reconciler) Look(ctx context.Context, only ...Filter) (*scene.Scene, plan.Plan, error) {
	snap, err := r.observe(ctx)
	if err != nil {
		return nil, plan.Plan{}, err
	}
	if r.Adopt {
		r.observer().AddForeign(ctx, &snap)
	}
	s := scene.Of(r.Config, snap)
	p := plan.Compute(s)
	r.memory.Planned(s, p)
	for _, f := range only {
		p = f(p)
	}
	return s, p, nil
}

// Filter narrows a plan before it is carried out.
type Filter func(plan.Plan) plan.Plan

// OnlyCollect keeps the actions that clean up in the cloud. It drops the cancellation of a request
// that yields its place, because a full pass must write the AdminComment first.
func OnlyCollect(p plan.Plan) plan.Plan {
	var kept []action.Action
	for _, a := range p.Actions {
		switch a := a.(type) {
		case action.CancelRequest:
			if !a.Yields {
				kept = append(kept, a)
			}
		case action.DeleteRequest, action.DeleteInstances, action.DeleteVMs, action.DeleteGroup, action.DeletePolicy, action.DeleteReservation:
			kept = append(kept, a)
		}
	}
	p.Actions = kept
	return p
}
