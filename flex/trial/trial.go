package trial

import (
	"context"
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
	t.reads(ctx)
	if t.creates(ctx) {
		t.places(ctx)
		if t.cancels(ctx) {
			t.asksTooLittle(ctx)
			if t.grants(ctx) {
				t.loses(ctx)
			}
		}
		t.ends(ctx)
	}
	left, err := t.leave(ctx)
	return t.report(left, err)
}

// try makes a call unless ctx has ended, and says how it ended; nil: it was not made.
// what is what people are told of it; empty: nothing.
func (t *Trial) try(ctx context.Context, what string, do func(context.Context) error) *outcome {
	if ctx.Err() != nil {
		t.give("interrupted")
		return nil
	}
	if what != "" {
		t.Say(what)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callLimit)
	defer cancel()
	return &outcome{do(ctx)}
}

// give notes why the rest is not tried.
func (t *Trial) give(reason string) {
	if t.obstacle == "" {
		t.obstacle = reason
	}
}

// needs reports whether a call was taken; if not, what follows is not tried.
func (t *Trial) needs(o *outcome) bool {
	if o != nil && o.err != nil {
		t.give(o.err.Error())
	}
	return o.ok()
}

// reads are the calls that change nothing.
func (t *Trial) reads(ctx context.Context) {
	s, regions := &t.seen, []string{t.Spec.Region}
	s.template = t.try(ctx, "read template "+t.Spec.Template.Link, func(ctx context.Context) error {
		_, err := t.Cloud.Template(ctx, t.Spec.Template.Link)
		return err
	})
	s.region = t.try(ctx, "read region "+t.Spec.Region, func(ctx context.Context) error {
		_, err := t.Cloud.Region(ctx, t.Spec.Region)
		return err
	})
	t.try(ctx, "read Compute's clock", func(ctx context.Context) error {
		before := t.Now()
		there, err := t.Cloud.Clock(ctx, t.Spec.Region)
		if err == nil {
			s.clock = &offset{before, there, t.Now()}
		}
		return err
	})
	s.zone = t.try(ctx, "read zone "+t.Spec.Zones[0], func(ctx context.Context) error {
		_, err := t.Cloud.Zone(ctx, t.Spec.Zones[0])
		return err
	})
	s.machineType = t.try(ctx, "read machine type "+t.Spec.Template.MachineType, func(ctx context.Context) error {
		_, err := t.Cloud.MachineType(ctx, t.Spec.Zones[0], t.Spec.Template.MachineType)
		return err
	})
	s.groups = t.try(ctx, "list groups", func(ctx context.Context) error {
		_, unseen := t.Cloud.Groups(ctx, t.Spec.Name(), regions)
		return unseen[t.Spec.Region]
	})
	s.instances = t.try(ctx, "list instances", func(ctx context.Context) error {
		_, unseen := t.Cloud.Instances(ctx, t.Spec.Name(), regions, t.Spec.Zones...)
		return unseen[t.Spec.Region]
	})
	s.partial = t.try(ctx, "list instances with returnPartialSuccess", func(ctx context.Context) error {
		return t.Cloud.TakesPartialSuccess(ctx, t.Spec.Name())
	})
	s.policies = t.try(ctx, "list policies", func(ctx context.Context) error {
		_, unseen := t.Cloud.Policies(ctx, t.Spec.Name(), regions)
		return unseen[t.Spec.Region]
	})
	s.advice = t.try(ctx, "read capacity advice", func(ctx context.Context) error {
		_, err := t.Cloud.CapacityAdvice(ctx, t.Spec.advice())
		return err
	})
	s.absent = t.try(ctx, "read a group that does not exist", func(ctx context.Context) error {
		_, err := t.Cloud.Group(ctx, t.Spec.Region, t.Spec.Name()+"-none")
		return err
	})
}

// creates makes the group, and reports whether there is one.
func (t *Trial) creates(ctx context.Context) bool {
	s := &t.seen
	create := func(ctx context.Context) error { return t.Cloud.CreateGroup(ctx, t.Spec.group()) }
	s.created = t.try(ctx, "create group "+t.Spec.Group()+", sent twice", func(ctx context.Context) error {
		t.created = true
		t.Again.Arm()
		return create(ctx)
	})
	if !t.needs(s.created) {
		return false
	}
	names := t.Again.Operations()
	s.operations = &names
	s.empty = t.look(ctx)
	s.createdAgain = t.try(ctx, "create it again", create)
	return true
}

// places makes a workload policy, and deletes it, if it can be seen whether one is left.
func (t *Trial) places(ctx context.Context) {
	s := &t.seen
	if !s.policies.ok() {
		return
	}
	s.policyCreated = t.try(ctx, "create policy "+t.Spec.Policy(), func(ctx context.Context) error {
		return t.Cloud.CreatePolicy(ctx, t.Spec.policy())
	})
	if s.policyCreated.ok() {
		s.policyDeleted = t.try(ctx, "delete policy "+t.Spec.Policy(), t.deletePolicy)
	}
}

func (t *Trial) deletePolicy(ctx context.Context) error {
	return t.Cloud.DeletePolicy(ctx, t.Spec.Region, t.Spec.Policy())
}

// cancels makes a request, and cancels it at once. It reports whether requests are
// taken.
func (t *Trial) cancels(ctx context.Context) bool {
	s := &t.seen
	cancel := t.ending(t.Cloud.CancelRequest, requestCancelled)
	if s.asked = t.ask(ctx, requestCancelled); !t.needs(s.asked) {
		return false
	}
	waiting := t.look(ctx)
	if waiting == nil {
		return false
	}
	s.cancelled = t.try(ctx, "cancel request "+requestCancelled, cancel)
	after := t.look(ctx)
	if after == nil {
		return false
	}
	if after.state(requestCancelled) == string(mig.Succeeded) { // its machine came before it could be cancelled
		s.cancelled = nil
		return t.withdraw(ctx, *after, t.Spec.instance(1))
	}
	s.waiting, s.afterCancel = waiting, after
	if s.cancelled.ok() {
		if s.afterCancel = t.awaitGone(ctx, t.Spec.instance(1)); s.afterCancel == nil {
			return false
		}
		s.cancelledAgain = t.try(ctx, "cancel it again", cancel)
		s.forgotten = t.try(ctx, "delete its record", t.ending(t.Cloud.DeleteRequest, requestCancelled))
	}
	if s.forgotten != nil {
		s.afterForget = t.look(ctx)
	}
	return true
}

// withdraw deletes a machine that should not have come, and reports whether it is gone.
func (t *Trial) withdraw(ctx context.Context, l look, name string) bool {
	o := t.discard(ctx, l, name, t.deleteInGroup)
	return t.needs(o) && t.awaitGone(ctx, name) != nil
}

// asksTooLittle makes a request that must be refused.
func (t *Trial) asksTooLittle(ctx context.Context) {
	s := &t.seen
	s.short = t.ask(ctx, requestShort)
	if s.short != nil {
		s.afterShort = t.look(ctx)
	}
}

// grants makes a request, awaits its machine and deletes that. It reports whether a
// machine came and is gone.
func (t *Trial) grants(ctx context.Context) bool {
	s := &t.seen
	s.requested = t.ask(ctx, requestDeleted)
	if !t.needs(s.requested) {
		return false
	}
	s.requestedAgain = t.ask(ctx, requestDeleted)
	if l := t.look(ctx); l != nil && l.state(requestDeleted) == string(mig.Accepted) {
		s.deletedActive = t.try(ctx, "delete it while it waits", t.ending(t.Cloud.DeleteRequest, requestDeleted))
		s.afterDeleteActive = t.look(ctx)
	}
	s.granted, s.running = t.await(ctx, requestDeleted)
	if s.running == nil {
		return false
	}
	s.cancelledLate = t.try(ctx, "cancel it after it has succeeded", t.ending(t.Cloud.CancelRequest, requestDeleted))
	s.deletedMachine = t.discard(ctx, *s.running, t.Spec.instance(0), t.deleteInGroup)
	if t.needs(s.deletedMachine) {
		s.afterMachine = t.awaitGone(ctx, t.Spec.instance(0))
	}
	return s.afterMachine != nil
}

// loses makes a request for the same name, and deletes its machine without the group.
func (t *Trial) loses(ctx context.Context) {
	s := &t.seen
	s.requestedName = t.ask(ctx, requestLost)
	if !t.needs(s.requestedName) {
		return
	}
	_, running := t.await(ctx, requestLost)
	if running == nil {
		return
	}
	s.deletedVM = t.discard(ctx, *running, t.Spec.instance(0), t.Cloud.DeleteVMs)
	if t.needs(s.deletedVM) {
		s.afterLoss = t.awaitGone(ctx, t.Spec.instance(0))
	}
}

// ends deletes the group, and looks whether all is gone.
func (t *Trial) ends(ctx context.Context) {
	s := &t.seen
	if l := t.look(ctx); l != nil {
		_ = t.cancelLive(ctx, l.group) // leave tries again
	}
	s.deletedGroup = t.try(ctx, "delete group "+t.Spec.Group(), func(ctx context.Context) error {
		return t.Cloud.DeleteGroup(ctx, t.Spec.Region, t.Spec.Group())
	})
	if !t.needs(s.deletedGroup) {
		return
	}
	s.readAfter = t.try(ctx, "read it", func(ctx context.Context) error {
		_, err := t.Cloud.Group(ctx, t.Spec.Region, t.Spec.Group())
		return err
	})
	t.try(ctx, "list groups and instances", func(ctx context.Context) error {
		l, err := t.listed(ctx)
		if err == nil {
			s.left = &l
		}
		return err
	})
}

// ask makes a request.
func (t *Trial) ask(ctx context.Context, request string) *outcome {
	r := t.Spec.request(request)
	return t.try(ctx, "create request "+request, func(ctx context.Context) error {
		return t.Cloud.CreateRequest(ctx, t.Spec.Region, t.Spec.Group(), r)
	})
}

// ending is a call that ends a request, or its record.
func (t *Trial) ending(call func(ctx context.Context, region, group, request string) error, request string) func(context.Context) error {
	return func(ctx context.Context) error { return call(ctx, t.Spec.Region, t.Spec.Group(), request) }
}

func (t *Trial) deleteInGroup(ctx context.Context, machines []mig.Instance) error {
	return t.Cloud.DeleteInstances(ctx, t.Spec.Region, t.Spec.Group(), machines)
}

// discard deletes a machine that a look shows.
func (t *Trial) discard(ctx context.Context, l look, name string, by func(context.Context, []mig.Instance) error) *outcome {
	in, ok := l.machine(name)
	if !ok {
		t.give("the list of instances does not have machine " + name)
		return nil
	}
	return t.try(ctx, "delete machine "+name, func(ctx context.Context) error { return by(ctx, []mig.Instance{in}) })
}
