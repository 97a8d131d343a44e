package trial

import (
	"context"
	"errors"
	"fmt"

	"slurmflex/mig"
)

// step is one step of a trial: a call, or a snapshot after earlier calls. A step may fail,
// because Compute must reject some calls.
type step struct {
	name  string
	needs []string // steps that must have succeeded
	after string   // a step that must have been executed, with any outcome
	does  string   // message for the user; empty: none
	run   func(ctx context.Context) (*snapshot, error)
}

// errSkipped is the error of a step that found nothing to try.
var errSkipped = errors.New("nothing to try")

// steps returns the steps of a trial, in order. Checks name them.
func (t *Trial) steps() []step {
	var (
		group     = []string{"create group"}
		waiting   = []string{"waiting request"}
		cancelled = []string{"cancelled request"}
		running   = []string{"running machine"}
	)
	return []step{
		{"read template", nil, "", "read template " + t.Spec.Template.Link, call(func(ctx context.Context) error {
			_, err := t.Cloud.Template(ctx, t.Spec.Template.Link)
			return err
		})},
		{"read region", nil, "", "read region " + t.Spec.Region, call(func(ctx context.Context) error {
			_, err := t.Cloud.Region(ctx, t.Spec.Region)
			return err
		})},
		{"read clock", nil, "", "read Compute's clock", call(t.readClock)},
		{"read zone", nil, "", "read zone " + t.Spec.Zones[0], call(func(ctx context.Context) error {
			_, err := t.Cloud.Zone(ctx, t.Spec.Zones[0])
			return err
		})},
		{"read machine type", nil, "", "read machine type " + t.Spec.Template.MachineType, call(func(ctx context.Context) error {
			_, err := t.Cloud.MachineType(ctx, t.Spec.Zones[0], t.Spec.Template.MachineType)
			return err
		})},
		{"list groups", nil, "", "list groups", call(func(ctx context.Context) error {
			_, unseen := t.Cloud.Groups(ctx, t.Spec.Name(), []string{t.Spec.Region})
			return unseen[t.Spec.Region]
		})},
		{"list instances", nil, "", "list instances", call(func(ctx context.Context) error {
			_, unseen := t.Cloud.Instances(ctx, t.Spec.Name(), []string{t.Spec.Region}, t.Spec.Zones...)
			return unseen[t.Spec.Region]
		})},
		{"list partially", nil, "", "list instances with returnPartialSuccess", call(func(ctx context.Context) error {
			return t.Cloud.TakesPartialSuccess(ctx, t.Spec.Name())
		})},
		{"list policies", nil, "", "list policies", call(func(ctx context.Context) error {
			_, unseen := t.Cloud.Policies(ctx, t.Spec.Name(), []string{t.Spec.Region})
			return unseen[t.Spec.Region]
		})},
		{"read missing group", nil, "", "read a group that does not exist", call(func(ctx context.Context) error {
			_, err := t.Cloud.Group(ctx, t.Spec.Region, t.Spec.Name()+"-none")
			return err
		})},

		// Create the group.
		{"create group", nil, "", "create group " + t.Spec.Group() + ", sent twice", call(t.createTwice)},
		{"empty group", group, "", "", t.observe},
		{"create group again", group, "", "create it again", call(t.createGroup)},

		// Create a workload policy, if the trial can list policies to see whether one is left.
		{"create policy", []string{"create group", "list policies"}, "", "create policy " + t.Spec.Policy(), call(func(ctx context.Context) error {
			return t.Cloud.CreatePolicy(ctx, t.Spec.policy())
		})},
		{"delete policy", []string{"create policy"}, "", "delete policy " + t.Spec.Policy(), call(t.deletePolicy)},

		// Create a request and cancel it at once.
		{"create request", group, "", "create request " + requestCancelled, t.ask(requestCancelled)},
		{"waiting request", []string{"create request"}, "", "", t.observe},
		{"cancel request", waiting, "", "cancel request " + requestCancelled, t.ending(t.Cloud.CancelRequest, requestCancelled)},
		{"cancelled request", waiting, "", "", t.seeCancelled},
		{"cancel request again", []string{"cancel request", "cancelled request"}, "", "cancel it again", t.ending(t.Cloud.CancelRequest, requestCancelled)},
		{"delete request", []string{"cancel request", "cancelled request"}, "", "delete its record", t.ending(t.Cloud.DeleteRequest, requestCancelled)},
		{"deleted request", nil, "delete request", "", t.observe},

		// Create a request that Compute must reject.
		{"create short request", cancelled, "", "create request " + requestShort, t.ask(requestShort)},
		{"short request", nil, "create short request", "", t.observe},

		// Create a request, and delete its machine through the group once it runs.
		{"request machine", cancelled, "", "create request " + requestDeleted, t.ask(requestDeleted)},
		{"request machine again", []string{"request machine"}, "", "create request " + requestDeleted, t.ask(requestDeleted)},
		{"delete active request", []string{"request machine"}, "", "", t.deleteActive},
		{"active request", nil, "delete active request", "", t.observe},
		{"running machine", []string{"request machine"}, "", t.awaiting(requestDeleted), func(ctx context.Context) (*snapshot, error) {
			ended, running, err := t.await(ctx, requestDeleted)
			if ended != nil {
				t.seen.note("granted request", ended, nil)
			}
			return running, err
		}},
		{"cancel late", running, "", "cancel it after it has succeeded", t.ending(t.Cloud.CancelRequest, requestDeleted)},
		{"delete machine", running, "", "delete machine " + t.Spec.instance(0), call(func(ctx context.Context) error {
			return t.discard(ctx, "running machine", t.deleteInGroup)
		})},
		{"deleted machine", []string{"delete machine"}, "", "await its end", t.awaitGone(t.Spec.instance(0))},

		// Create a request for the same name, and delete its machine without its group.
		{"request name again", []string{"deleted machine"}, "", "create request " + requestLost, t.ask(requestLost)},
		{"second machine", []string{"request name again"}, "", t.awaiting(requestLost), func(ctx context.Context) (*snapshot, error) {
			_, running, err := t.await(ctx, requestLost)
			return running, err
		}},
		{"lose machine", []string{"second machine"}, "", "delete machine " + t.Spec.instance(0), call(func(ctx context.Context) error {
			return t.discard(ctx, "second machine", t.Cloud.DeleteVMs)
		})},
		{"lost machine", []string{"lose machine"}, "", "await its end", t.awaitGone(t.Spec.instance(0))},

		// Delete everything. If a step fails here, leave tries again.
		{"cancel all", group, "", "", func(ctx context.Context) (*snapshot, error) {
			l, err := t.observe(ctx)
			if err != nil {
				return nil, err
			}
			return l, t.cancelLive(ctx, l.group)
		}},
		{"delete group", group, "", "delete group " + t.Spec.Group(), call(func(ctx context.Context) error {
			return t.Cloud.DeleteGroup(ctx, t.Spec.Region, t.Spec.Group())
		})},
		{"read deleted group", []string{"delete group"}, "", "read it", call(func(ctx context.Context) error {
			_, err := t.Cloud.Group(ctx, t.Spec.Region, t.Spec.Group())
			return err
		})},
		{"lists at the end", []string{"delete group"}, "", "list groups and instances", func(ctx context.Context) (l *snapshot, err error) {
			err = bounded(ctx, func(ctx context.Context) error {
				seen, err := t.listed(ctx)
				l = &seen
				return err
			})
			return l, err
		}},
	}
}

// call returns a step that makes one call.
func call(do func(context.Context) error) func(context.Context) (*snapshot, error) {
	return func(ctx context.Context) (*snapshot, error) { return nil, bounded(ctx, do) }
}

func (t *Trial) readClock(ctx context.Context) error {
	before := t.Now()
	there, err := t.Cloud.Clock(ctx, t.Spec.Region)
	if err == nil {
		t.seen.clock = &offset{before, there, t.Now()}
	}
	return err
}

func (t *Trial) createGroup(ctx context.Context) error {
	return t.Cloud.CreateGroup(ctx, t.Spec.group())
}

// createTwice creates the group with a call that is sent twice.
func (t *Trial) createTwice(ctx context.Context) error {
	t.created = true
	t.Again.Arm()
	err := t.createGroup(ctx)
	if err == nil {
		names := t.Again.Operations()
		t.seen.operations = &names
	}
	return err
}

func (t *Trial) deletePolicy(ctx context.Context) error {
	return t.Cloud.DeletePolicy(ctx, t.Spec.Region, t.Spec.Policy())
}

// ask returns a step that creates a request.
func (t *Trial) ask(request string) func(context.Context) (*snapshot, error) {
	return call(func(ctx context.Context) error {
		return t.Cloud.CreateRequest(ctx, t.Spec.Region, t.Spec.Group(), t.Spec.request(request))
	})
}

// ending returns a step that ends a request or deletes its record.
func (t *Trial) ending(end func(ctx context.Context, region, group, request string) error, request string) func(context.Context) (*snapshot, error) {
	return call(func(ctx context.Context) error { return end(ctx, t.Spec.Region, t.Spec.Group(), request) })
}

// seeCancelled takes a snapshot after the cancellation of the request, once its member no longer
// exists. If the machine was created first, the request was not cancelled while waiting, and
// seeCancelled deletes the machine.
func (t *Trial) seeCancelled(ctx context.Context) (*snapshot, error) {
	name := t.Spec.instance(1)
	l, err := t.observe(ctx)
	switch {
	case err != nil:
		return nil, err
	case l.state(requestCancelled) == string(mig.Succeeded):
		t.seen.forget("cancel request")
		t.seen.forget("waiting request")
		t.Say("delete machine " + name)
		if err := bounded(ctx, func(ctx context.Context) error { return t.discardFrom(ctx, l, name, t.deleteInGroup) }); err != nil {
			return nil, err
		}
		_, err := t.awaitGone(name)(ctx)
		return nil, err
	case t.seen.results["cancel request"].ok():
		return t.awaitGone(name)(ctx)
	}
	return l, nil
}

// deleteActive tries to delete a request that waits, if there is one.
func (t *Trial) deleteActive(ctx context.Context) (*snapshot, error) {
	l, err := t.observe(ctx)
	if err != nil || l.state(requestDeleted) != string(mig.Accepted) {
		return nil, errSkipped
	}
	t.Say("delete it while it waits")
	return t.ending(t.Cloud.DeleteRequest, requestDeleted)(ctx)
}

func (t *Trial) deleteInGroup(ctx context.Context, machines []mig.Instance) error {
	return t.Cloud.DeleteInstances(ctx, t.Spec.Region, t.Spec.Group(), machines)
}

// discard deletes the machine that a step saw running.
func (t *Trial) discard(ctx context.Context, seenBy string, by func(context.Context, []mig.Instance) error) error {
	return t.discardFrom(ctx, t.seen.results[seenBy].snapshot, t.Spec.instance(0), by)
}

// discardFrom deletes a machine that a snapshot shows.
func (t *Trial) discardFrom(ctx context.Context, l *snapshot, name string, by func(context.Context, []mig.Instance) error) error {
	in, ok := l.machine(name)
	if !ok {
		return fmt.Errorf("the list of instances does not have machine %s", name)
	}
	return by(ctx, []mig.Instance{in})
}
