package trial

import (
	"context"
	"errors"
	"fmt"
	"time"

	"slurmflex/mig"
)

const (
	leaveLimit  = 15 * time.Minute // to delete everything
	leavePause  = 10 * time.Second
	lateLimit   = 2 * time.Minute // for a group or policy that may exist to appear in a list
	mostRefused = 5               // consecutive rejections of a deletion before leave stops trying
)

// leave deletes the trial's remains. It returns the names of everything that it cannot delete, or
// an error if it cannot read what exists. It continues after ctx has ended.
func (t *trial) leave(ctx context.Context) (left []string, err error) {
	if !t.created {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveLimit)
	defer cancel()
	begun, failed, said := time.Now(), 0, false
	for {
		l, unsure, wrong := t.remains(ctx)
		there := len(names(l)) > 0
		late := unsure && time.Since(begun) < lateLimit
		if wrong == nil && !there && !late {
			return nil, nil
		}
		if !said {
			t.say(fmt.Sprintf("delete what is left, for up to %s", leaveLimit))
			said = true
		}
		if wrong == nil {
			wrong = t.clear(ctx, l)
		}
		if failed++; wrong == nil {
			failed = 0
		}
		if failed == mostRefused || ctx.Err() != nil {
			return names(l), wrong
		}
		sleep(ctx, leavePause)
	}
}

// remains returns what is left. It is unsure if something may exist that the lists do not show yet.
// It reads the group by name, which shows at once whether an answered call has created the group.
func (t *trial) remains(ctx context.Context) (l *snapshot, unsure bool, err error) {
	if l, err = t.listed(ctx); err != nil {
		return l, true, err
	}
	unsure = t.results["create group"].unanswered() || t.mayHavePolicy() && !t.results["delete policy"].ok()
	g, err := t.cloud.Group(ctx, t.spec.region, t.spec.group())
	switch {
	case mig.CauseOf(err) == mig.CauseNotFound:
		l.group = mig.Group{}
	case err == nil && g.Stamp == t.spec.stamp():
		l.group = g
	default:
		unsure = true
	}
	return l, unsure, nil
}

// clear deletes the policy and the group. Without a group, it deletes the machines that the group
// left behind.
func (t *trial) clear(ctx context.Context, l *snapshot) (err error) {
	if len(l.policies) > 0 {
		err = t.remove(ctx, "delete policy "+t.spec.policy(), t.deletePolicy)
	}
	return errors.Join(err, t.clearGroup(ctx, l))
}

// remove makes a call that deletes something. It succeeds if the thing no longer exists.
func (t *trial) remove(ctx context.Context, does string, do func(context.Context) error) error {
	if ctx.Err() != nil {
		return nil
	}
	t.say(does)
	_, err := call(do)(ctx)
	if mig.CauseOf(err) == mig.CauseNotFound {
		return nil
	}
	return err
}

func (t *trial) clearGroup(ctx context.Context, l *snapshot) error {
	if l.group.Name != "" {
		return errors.Join(t.cancelLive(ctx, l.group), t.remove(ctx, "delete group "+l.group.Name, func(ctx context.Context) error {
			return t.cloud.DeleteGroup(ctx, t.spec.region, l.group.Name)
		}))
	}
	var ours []mig.Instance
	for _, in := range l.machines {
		if in.Group == t.spec.group() && !in.Leaving() {
			ours = append(ours, in)
		}
	}
	if len(ours) == 0 {
		return nil
	}
	return t.remove(ctx, "delete the group's machines", func(ctx context.Context) error { return t.cloud.DeleteVMs(ctx, ours) })
}

// names returns the names of everything that a snapshot shows.
func names(l *snapshot) (left []string) {
	if l.group.Name != "" {
		left = append(left, "group "+l.group.Name)
	}
	for _, p := range l.policies {
		left = append(left, "policy "+p.Name)
	}
	for _, in := range l.machines {
		left = append(left, "machine "+in.Name)
	}
	return left
}
