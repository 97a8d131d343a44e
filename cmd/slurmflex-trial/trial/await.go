package trial

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"slurmflex/mig"
)

// observe reads the group, its members, and the trial's machines.
func (t *trial) observe(ctx context.Context) (*snapshot, error) { return bounded(t.read)(ctx) }

func (t *trial) read(ctx context.Context) (l *snapshot, err error) {
	l = &snapshot{at: time.Now()}
	l.group, err = t.cloud.Group(ctx, t.spec.region, t.spec.group())
	if t.note("read group", nil, err); err != nil {
		return nil, err
	}
	l.members, err = t.cloud.Members(ctx, t.spec.region, t.spec.group())
	if t.note("read members", nil, err); err != nil {
		return nil, err
	}
	l.machines, err = t.listMachines(ctx)
	return l, err
}

// inRegion returns what a list has of the cluster's trials in the trial's region.
func inRegion[T any](ctx context.Context, s spec, list func(context.Context, string, []string) ([]T, map[string]error)) ([]T, error) {
	all, unseen := list(ctx, owner(s.cluster), []string{s.region})
	return all, unseen[s.region]
}

// listMachines returns the trial's machines from the list of instances.
func (t *trial) listMachines(ctx context.Context) ([]mig.Instance, error) {
	machines, unseen := t.cloud.Instances(ctx, t.spec.name(), []string{t.spec.region}, t.spec.zones...)
	return machines, unseen[t.spec.region]
}

// listed returns what the lists show of the trial: its group and its policy, if they exist, and its
// machines.
func (t *trial) listed(ctx context.Context) (l *snapshot, err error) {
	l = &snapshot{}
	groups, err := inRegion(ctx, t.spec, t.cloud.Groups)
	if err != nil {
		return l, err
	}
	l.group, _ = find(groups, t.spec.group(), func(g mig.Group) string { return g.Name })
	if t.mayHavePolicy() {
		policies, err := inRegion(ctx, t.spec, t.cloud.Policies)
		if err != nil {
			return l, err
		}
		l.policies = slices.DeleteFunc(policies, func(p mig.Policy) bool { return p.Name != t.spec.policy() })
	}
	l.machines, err = t.listMachines(ctx)
	return l, err
}

// mayHavePolicy reports whether a policy may have been created.
func (t *trial) mayHavePolicy() bool {
	r := t.results["create policy"]
	return r.ok() || r.unanswered()
}

// lagging is the number of further snapshots that a trial takes until a list reflects a change of
// the group.
const lagging = 15

// errInterrupted is the error of a wait that the user interrupted.
var errInterrupted = errors.New("interrupted")

// awaiting is the message for the user before await.
func (t *trial) awaiting(request string) string {
	return fmt.Sprintf("await machine %s for up to %s", t.spec.request(request).Instances[0], t.spec.wait)
}

// await returns an act that waits until the request has ended and its machine runs and shows its
// lease. It notes the snapshot at the request's end as a result of its own. When the time is up, it
// cancels the request.
func (t *trial) await(request string) act {
	return func(ctx context.Context) (*snapshot, error) {
		name, begun, more := t.spec.request(request).Instances[0], time.Now(), lagging
		ended := false
		for ctx.Err() == nil {
			l, err := t.observe(ctx)
			if err != nil {
				return nil, err
			}
			r, recorded := l.request(request)
			if recorded && !r.State.Live() || !recorded && !l.has(name) {
				t.note(endOf(request), l, nil)
				ended = true
			}
			member, _ := l.member(name)
			in, listed := l.machine(name)
			runs := member.Status == "RUNNING" && (ended || !recorded)
			switch {
			case ended && l.state(request) != string(mig.Succeeded):
				return nil, fmt.Errorf("request %s has ended: %s %s", request, l.state(request), r.Message)
			case runs && (more == 0 || listed && !in.Terminates.IsZero() && member.Action == "NONE"):
				return l, nil
			case runs:
				more--
			case time.Since(begun) >= t.spec.wait:
				_ = t.cancelLive(ctx, l.group) // if it fails, leave tries again
				return nil, fmt.Errorf("no machine within %s %s", t.spec.wait, r.Message)
			}
			sleep(ctx, pollPause)
		}
		return nil, errInterrupted
	}
}

// endOf names the result of await at the end of a request.
func endOf(request string) string { return "end of request " + request }

// awaitGone returns an act that waits until a machine is deleted and its group no longer counts the
// machine.
func (t *trial) awaitGone(name string) act {
	return func(ctx context.Context) (*snapshot, error) {
		begun := time.Now()
		for ctx.Err() == nil {
			l, err := t.observe(ctx)
			if err != nil {
				return nil, err
			}
			member, in := l.member(name)
			_, listed := l.machine(name)
			late := time.Since(begun) >= goneLimit
			switch {
			case !listed && (late || !in || member.Lost()):
				return l, nil
			case late:
				return nil, fmt.Errorf("machine %s is not gone within %s", name, goneLimit)
			}
			sleep(ctx, pollPause)
		}
		return nil, errInterrupted
	}
}

// cancelLive cancels a group's live requests.
func (t *trial) cancelLive(ctx context.Context, g mig.Group) (errs error) {
	for _, r := range g.Live() {
		t.say("cancel request " + r.Name)
		_, err := t.ending(t.cloud.CancelRequest, r.Name)(ctx)
		if mig.CauseOf(err) != mig.CauseConflict { // the request has ended by itself
			errs = errors.Join(errs, err)
		}
	}
	return errs
}

// sleep waits for d, or until ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
