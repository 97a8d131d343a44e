// Package flex keeps a cluster's flex-start nodes in order: it observes Slurm
// and the cloud, lets flex/plan decide, and carries the plan out, round after
// round. What a round finds is all it knows, so a lost call, a crash or a
// change by hand is healed by the next one.
package flex

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"slurmflex/config"
	"slurmflex/flex/plan"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// Scheduler is what a round needs of Slurm.
type Scheduler interface {
	Nodes(ctx context.Context) ([]slurm.Node, error)
	Jobs(ctx context.Context) ([]slurm.Job, error)
	UpdateNodes(ctx context.Context, names []string, change slurm.NodeChange) error
}

// Cloud is what a round needs of Compute. Reading answers with the regions that
// could not be read beside what could; a change returns when it is done, or an
// error with its mig.Cause.
type Cloud interface {
	Groups(ctx context.Context, cluster string, regions []string) ([]mig.Group, map[string]error)
	Instances(ctx context.Context, cluster string, regions []string) ([]mig.Instance, map[string]error)

	CreateGroup(ctx context.Context, spec mig.GroupSpec) error
	CreateRequest(ctx context.Context, region, group string, spec mig.RequestSpec) error
	CancelRequest(ctx context.Context, region, group, request string) error
	DeleteInstances(ctx context.Context, region, group string, instances []mig.Instance) error
	DeleteGroup(ctx context.Context, region, group string) error
}

// Reconciler makes rounds. Only one round may be under way at a time; see Lock.
type Reconciler struct {
	Config    *config.Config
	Scheduler Scheduler
	Cloud     Cloud
	Log       *zap.Logger
	Now       func() time.Time

	flights flights
	mu      sync.Mutex              // guards what follows while actions run side by side
	refused map[string]plan.Refusal // by group; see plan.Snapshot
}

// Observe reads Slurm and the cloud. If Slurm cannot be read there is no
// snapshot; a region that cannot be read is named in it.
func (r *Reconciler) Observe(ctx context.Context) (plan.Snapshot, error) {
	snap := plan.Snapshot{Unseen: map[string]error{}, Refused: r.remembered()}
	var unseenGroups, unseenInstances map[string]error
	regions := r.Config.FlexRegions()

	reads, ctx := errgroup.WithContext(ctx)
	reads.Go(func() (err error) {
		if snap.Nodes, err = r.Scheduler.Nodes(ctx); err != nil {
			return fmt.Errorf("read nodes: %w", err)
		}
		if snap.Jobs, err = r.Scheduler.Jobs(ctx); err != nil {
			return fmt.Errorf("read jobs: %w", err)
		}
		return nil
	})
	reads.Go(func() error {
		snap.Groups, unseenGroups = r.Cloud.Groups(ctx, r.Config.Cluster, regions)
		return nil
	})
	reads.Go(func() error {
		snap.Instances, unseenInstances = r.Cloud.Instances(ctx, r.Config.Cluster, regions)
		return nil
	})
	if err := reads.Wait(); err != nil {
		return plan.Snapshot{}, err
	}
	maps.Copy(snap.Unseen, unseenInstances)
	maps.Copy(snap.Unseen, unseenGroups)
	// What was read of a region is not to be judged by without the rest.
	snap.Groups = slices.DeleteFunc(snap.Groups, func(g mig.Group) bool { return snap.Unseen[g.Region] != nil })
	snap.Instances = slices.DeleteFunc(snap.Instances, func(in mig.Instance) bool { return snap.Unseen[in.Region] != nil })
	snap.Now = r.Now()
	return snap, nil
}

// Outcome is what a round did.
type Outcome struct {
	Plan   plan.Plan
	Failed int // actions that could not be carried out; the next round sees to them
}

// Soon reports whether the next round should come in seconds: something is
// under way that will end without us.
func (o Outcome) Soon() bool { return len(o.Plan.Expect) > 0 || o.Failed > 0 }

// Round observes, plans and acts once, and waits until what it began is done.
// It fails only if nothing could be observed; an action that fails is logged
// and counted, and stops no other.
func (r *Reconciler) Round(ctx context.Context, only ...Filter) (Outcome, error) {
	return r.round(ctx, 2*actionLimit, only...)
}

func (r *Reconciler) round(ctx context.Context, patience time.Duration, only ...Filter) (Outcome, error) {
	r.flights.forget()
	snap, err := r.Observe(ctx)
	if err != nil {
		return Outcome{}, err
	}
	p := plan.Compute(r.Config, snap)
	for _, f := range only {
		p = f(p)
	}
	for _, problem := range p.Problems {
		r.Log.Warn(problem)
	}
	return Outcome{Plan: p, Failed: r.apply(ctx, p, patience)}, nil
}

// Filter narrows a plan before it is carried out.
type Filter func(plan.Plan) plan.Plan

// OnlyCollect keeps the actions that clean up in the cloud.
func OnlyCollect(p plan.Plan) plan.Plan {
	var kept []plan.Action
	for _, a := range p.Actions {
		switch a.(type) {
		case plan.CancelRequest, plan.DeleteInstances, plan.DeleteGroup:
			kept = append(kept, a)
		}
	}
	p.Actions = kept
	return p
}

// remembered returns a copy of the refusals that still matter.
func (r *Reconciler) remembered() map[string]plan.Refusal {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.refused, func(_ string, f plan.Refusal) bool {
		return r.Now().Sub(f.At) > refusalMatters
	})
	return maps.Clone(r.refused)
}

// refusalMatters is how long a refusal is remembered: longer than the longest
// wait before another attempt.
const refusalMatters = time.Hour

// remember notes the outcome of creating something for a group.
func (r *Reconciler) remember(group string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		delete(r.refused, group)
		return
	}
	if r.refused == nil {
		r.refused = map[string]plan.Refusal{}
	}
	r.refused[group] = plan.Refusal{
		Cause: mig.CauseOf(err), Message: message(err), At: r.Now(), Times: r.refused[group].Times + 1,
	}
}

// message is the cloud's own words, without the operation and object that the
// reader knows already.
func message(err error) string {
	var e *mig.Error
	if errors.As(err, &e) {
		return e.Err.Error()
	}
	return err.Error()
}
