package trial

import (
	"context"
	"errors"
	"time"

	"slurmflex/mig"
)

// Cloud is what a trial needs of Compute.
type Cloud interface {
	Template(ctx context.Context, link string) (mig.Template, error)
	Clock(ctx context.Context, region string) (time.Time, error)
	Region(ctx context.Context, name string) (mig.Region, error)
	Zone(ctx context.Context, name string) (mig.Zone, error)
	MachineType(ctx context.Context, zone, name string) (mig.MachineType, error)
	Groups(ctx context.Context, cluster string, regions []string) ([]mig.Group, map[string]error)
	Policies(ctx context.Context, cluster string, regions []string) ([]mig.Policy, map[string]error)
	Instances(ctx context.Context, cluster string, regions []string, zones ...string) ([]mig.Instance, map[string]error)
	TakesPartialSuccess(ctx context.Context, cluster string) error
	Group(ctx context.Context, region, name string) (mig.Group, error)
	Members(ctx context.Context, region, group string) ([]mig.Member, error)
	CapacityAdvice(ctx context.Context, a mig.AdviceSpec) (mig.Advice, error)

	CreatePolicy(ctx context.Context, p mig.PolicySpec) error
	DeletePolicy(ctx context.Context, region, name string) error
	CreateGroup(ctx context.Context, g mig.GroupSpec) error
	CreateRequest(ctx context.Context, region, group string, r mig.RequestSpec) error
	CancelRequest(ctx context.Context, region, group, request string) error
	DeleteRequest(ctx context.Context, region, group, request string) error
	DeleteInstances(ctx context.Context, region, group string, instances []mig.Instance) error
	DeleteVMs(ctx context.Context, instances []mig.Instance) error
	DeleteGroup(ctx context.Context, region, group string) error
}

const (
	callLimit = 4 * time.Minute // for one call and its operation; the validation of a request alone may take two
	lookPause = 2 * time.Second // between two looks while it waits
	goneLimit = 5 * time.Minute // for a machine that is being deleted
)

// Trial is one trial. Its methods are not safe for concurrent use.
type Trial struct {
	Spec  Spec
	Cloud Cloud
	Again *Again            // carries the cloud's calls
	Now   func() time.Time  // this host's clock
	Say   func(what string) // is told of each step before it is done

	seen     seen
	machines ledger
	obstacle string // why what follows was not tried; the first one
	created  bool   // a group may have been created
}

// Run makes the trial, and deletes everything that it has created, also if ctx ends.
// A call that has begun is not broken off: what it creates is to be known.
func (t *Trial) Run(ctx context.Context) Report {
	t.seen.spec = t.Spec
	for _, s := range t.steps() {
		t.step(ctx, s)
	}
	left, err := t.leave(ctx)
	return t.report(left, err)
}

// step makes a step if the steps that it needs were made.
func (t *Trial) step(ctx context.Context, s step) {
	if ctx.Err() != nil {
		t.give("interrupted")
		return
	}
	for _, name := range s.needs {
		r := t.seen.results[name]
		if r != nil && r.err != nil {
			t.give(r.err.Error())
		}
		if !r.ok() {
			return
		}
	}
	if s.after != "" && t.seen.results[s.after] == nil {
		return
	}
	if s.does != "" {
		t.Say(s.does)
	}
	if l, err := s.run(ctx); !errors.Is(err, errNotTried) {
		t.seen.note(s.name, l, err)
	}
}

// give notes why the rest is not tried.
func (t *Trial) give(reason string) {
	if t.obstacle == "" {
		t.obstacle = reason
	}
}

// bounded makes a call, which outlives ctx and has a limit of its own.
func bounded(ctx context.Context, call func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callLimit)
	defer cancel()
	return call(ctx)
}
