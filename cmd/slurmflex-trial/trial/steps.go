package trial

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"slurmflex/mig"
)

// step is one step of a trial: a call, or a snapshot after earlier calls. A step may fail,
// because Compute must reject some calls.
type step struct {
	name  string
	needs []string // steps that must have succeeded
	does  string   // message for the user; empty: none
	run   act
}

// act is what a step does. It returns a snapshot if it takes one.
type act func(context.Context) (*snapshot, error)

// errSkipped is the error of a step that found nothing to try.
var errSkipped = errors.New("nothing to try")

// onlyCompute lists the steps that are about Compute alone. Another program may lack policies and the
// deletion of a machine without its group, and need not keep a record of what it refuses.
var onlyCompute = []string{"create policy", "short request", "lose machine"}

// steps returns the steps of a trial, in order. Checks name them.
func (t *trial) steps() []step {
	return slices.DeleteFunc(t.allSteps(), func(s step) bool { return t.spec.elsewhere && slices.Contains(onlyCompute, s.name) })
}

func (t *trial) allSteps() []step {
	var (
		group     = []string{"create group"}
		waiting   = []string{"waiting request"}
		cancelled = []string{"cancelled request"}
		running   = []string{"running machine"}
	)
	return []step{
		{"read template", nil, "read template " + t.spec.template.Link, call(func(ctx context.Context) error {
			_, err := t.cloud.Template(ctx, t.spec.template.Link)
			return err
		})},
		{"read region", nil, "read region " + t.spec.region, call(func(ctx context.Context) error {
			_, err := t.cloud.Region(ctx, t.spec.region)
			return err
		})},
		{"read clock", nil, "read Compute's clock", call(t.readClock)},
		{"read zone", nil, "read zone " + t.spec.zones[0], call(func(ctx context.Context) error {
			_, err := t.cloud.ZoneIsUp(ctx, t.spec.zones[0])
			return err
		})},
		{"read machine type", nil, "read machine type " + t.spec.template.MachineType, call(func(ctx context.Context) error {
			_, err := t.cloud.MachineType(ctx, t.spec.zones[0], t.spec.template.MachineType)
			return err
		})},
		{"list groups", nil, "list groups", call(func(ctx context.Context) error {
			_, err := inRegion(ctx, t.spec, t.cloud.Groups)
			return err
		})},
		{"list instances", nil, "list instances", call(func(ctx context.Context) error {
			_, err := t.listMachines(ctx)
			return err
		})},
		{"list policies", nil, "list policies", call(func(ctx context.Context) error {
			_, err := inRegion(ctx, t.spec, t.cloud.Policies)
			return err
		})},

		// Create the group.
		{"create group", nil, "create group " + t.spec.group() + ", sent twice", call(t.createTwice)},
		{"empty group", group, "", t.observe},
		{"create group again", group, "create it again", call(t.createGroup)},

		// Create a workload policy, if the trial can list policies to see whether one is left.
		{"create policy", []string{"create group", "list policies"}, "create policy " + t.spec.policy(), call(func(ctx context.Context) error {
			return t.cloud.CreatePolicy(ctx, t.spec.policySpec())
		})},
		{"delete policy", []string{"create policy"}, "delete policy " + t.spec.policy(), call(t.deletePolicy)},

		// Create a request and cancel it at once.
		{"create request", group, "create request " + requestCancelled, t.ask(requestCancelled)},
		{"waiting request", []string{"create request"}, "", t.observe},
		{"cancel request", waiting, "cancel request " + requestCancelled, t.ending(t.cloud.CancelRequest, requestCancelled)},
		{"cancelled request", waiting, "", t.seeCancelled},
		{"cancel request again", []string{"cancel request", "cancelled request"}, "cancel it again", t.ending(t.cloud.CancelRequest, requestCancelled)},
		{"delete request", []string{"cancel request", "cancelled request"}, "delete its record", t.ending(t.cloud.DeleteRequest, requestCancelled)},
		{"deleted request", nil, "", t.observeAfter("delete request")},

		// Create a request that Compute must reject.
		{"create short request", cancelled, "create request " + requestShort, t.ask(requestShort)},
		{"short request", nil, "", t.observeAfter("create short request")},

		// Create a request, and delete its machine through the group once it runs.
		{"request machine", cancelled, "create request " + requestDeleted, t.ask(requestDeleted)},
		{"request machine again", []string{"request machine"}, "create request " + requestDeleted, t.ask(requestDeleted)},
		{"delete active request", []string{"request machine"}, "delete it if it waits", t.deleteActive},
		{"active request", nil, "", t.observeAfter("delete active request")},
		{"running machine", []string{"request machine"}, t.awaiting(requestDeleted), t.await(requestDeleted)},
		{"cancel late", running, "cancel it after it has succeeded", t.ending(t.cloud.CancelRequest, requestDeleted)},
		{"delete machine", running, "delete machine " + t.spec.instance(0), t.discard("running machine", t.spec.instance(0), t.deleteInGroup)},
		{"deleted machine", []string{"delete machine"}, "await its end", t.awaitGone(t.spec.instance(0))},

		// Create a request for the same name, and delete its machine without its group.
		{"request name again", []string{"deleted machine"}, "create request " + requestLost, t.ask(requestLost)},
		{"second machine", []string{"request name again"}, t.awaiting(requestLost), t.await(requestLost)},
		{"lose machine", []string{"second machine"}, "delete machine " + t.spec.instance(0), t.discard("second machine", t.spec.instance(0), t.cloud.DeleteVMs)},
		{"lost machine", []string{"lose machine"}, "await its end", t.awaitGone(t.spec.instance(0))},

		// Delete everything. If a step fails here, leave tries again.
		{"cancel all", group, "", func(ctx context.Context) (*snapshot, error) {
			l, err := t.observe(ctx)
			if err != nil {
				return nil, err
			}
			return l, t.cancelLive(ctx, l.group)
		}},
		{"delete group", group, "delete group " + t.spec.group(), call(func(ctx context.Context) error {
			return t.cloud.DeleteGroup(ctx, t.spec.region, t.spec.group())
		})},
		{"read deleted group", []string{"delete group"}, "read it", call(func(ctx context.Context) error {
			_, err := t.cloud.Group(ctx, t.spec.region, t.spec.group())
			return err
		})},
		{"lists at the end", []string{"delete group"}, "list groups and instances", bounded(t.listed)},
	}
}

// call returns an act that makes one call.
func call(do func(context.Context) error) act {
	return bounded(func(ctx context.Context) (*snapshot, error) { return nil, do(ctx) })
}

// observeAfter returns an act that takes a snapshot if a step was executed, with any outcome.
func (t *trial) observeAfter(step string) act {
	return func(ctx context.Context) (*snapshot, error) {
		if t.results[step] == nil {
			return nil, errSkipped
		}
		return t.observe(ctx)
	}
}

func (t *trial) readClock(ctx context.Context) error {
	before := time.Now()
	_, err := t.cloud.Region(ctx, t.spec.region)
	if err == nil {
		t.clock = &offset{before, t.cloud.Date(), time.Now()}
	}
	return err
}

func (t *trial) createGroup(ctx context.Context) error {
	return t.cloud.CreateGroup(ctx, t.spec.groupSpec())
}

// createTwice creates the group with a call that is sent twice.
func (t *trial) createTwice(ctx context.Context) error {
	t.created = true
	t.again.armed.Store(true)
	err := t.createGroup(ctx)
	if err == nil {
		t.operations = &t.again.names
	}
	return err
}

func (t *trial) deletePolicy(ctx context.Context) error {
	return t.cloud.DeletePolicy(ctx, t.spec.region, t.spec.policy())
}

// ask returns an act that creates a request.
func (t *trial) ask(request string) act {
	return call(func(ctx context.Context) error {
		return t.cloud.CreateRequest(ctx, t.spec.region, t.spec.group(), t.spec.request(request))
	})
}

// ending returns an act that ends a request or deletes its record.
func (t *trial) ending(end func(ctx context.Context, region, group, request string) error, request string) act {
	return call(func(ctx context.Context) error { return end(ctx, t.spec.region, t.spec.group(), request) })
}

// seeCancelled takes a snapshot after the cancellation of the request, once its member no longer
// exists. If the machine was created first, the request was not cancelled while waiting, and
// seeCancelled deletes the machine.
func (t *trial) seeCancelled(ctx context.Context) (*snapshot, error) {
	name := t.spec.instance(1)
	l, err := t.observe(ctx)
	switch {
	case err != nil:
		return nil, err
	case l.state(requestCancelled) == string(mig.Succeeded):
		delete(t.results, "cancel request")
		delete(t.results, "waiting request")
		t.note("early machine", l, nil)
		t.say("delete machine " + name)
		if _, err := t.discard("early machine", name, t.deleteInGroup)(ctx); err != nil {
			return nil, err
		}
		_, err := t.awaitGone(name)(ctx)
		return nil, err
	case t.results["cancel request"].ok():
		return t.awaitGone(name)(ctx)
	}
	return l, nil
}

// deleteActive tries to delete a request that waits, if there is one.
func (t *trial) deleteActive(ctx context.Context) (*snapshot, error) {
	l, err := t.observe(ctx)
	if err != nil || l.state(requestDeleted) != string(mig.Accepted) {
		return nil, errSkipped
	}
	return t.ending(t.cloud.DeleteRequest, requestDeleted)(ctx)
}

func (t *trial) deleteInGroup(ctx context.Context, machines []mig.Instance) error {
	return t.cloud.DeleteInstances(ctx, t.spec.region, t.spec.group(), machines)
}

// discard returns an act that deletes a machine that an earlier snapshot shows.
func (t *trial) discard(seenBy, name string, by func(context.Context, []mig.Instance) error) act {
	return call(func(ctx context.Context) error {
		in, ok := t.results[seenBy].snapshot.machine(name)
		if !ok {
			return fmt.Errorf("the list of instances does not have machine %s", name)
		}
		return by(ctx, []mig.Instance{in})
	})
}
