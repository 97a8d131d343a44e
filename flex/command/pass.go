package command

import (
	"context"
	"errors"
	"fmt"

	"slurmflex/flex"
	"slurmflex/flex/leader"
	"slurmflex/flex/view"
)

// Pass is one reconcile pass.
type Pass struct {
	Terminal
	R    *flex.Reconciler
	Lock leader.Lock
	Only []flex.Filter     // limit the actions
	Then func(error) error // is called with the pass's error; its own error also fails the command
}

// Run makes the pass and prints its actions. It succeeds if another process does all the work.
func (p Pass) Run(ctx context.Context) error {
	did := view.NewPassLog(p.R.Config.Cluster)
	p.R.Watch = flex.Watchers{p.R.Watch, did}
	out, err := p.R.Sync(ctx, p.Lock, p.Only...)
	done := did.Pass()
	done.Skipped = skipped(done, err)
	var unprinted error
	if err == nil || done.Skipped != "" || len(done.Actions) > 0 {
		unprinted = view.Write(p.Out, p.JSON, done)
	}
	return errors.Join(outcome(ctx, out, err), unprinted, p.Then(err))
}

// skipped returns why no pass was made; empty if one was, although another process makes the next.
func skipped(done view.Pass, err error) string {
	if len(done.Actions) > 0 || !othersWork(err) {
		return ""
	}
	return err.Error()
}

// othersWork reports whether another process does the work: one that is about to start a pass, or
// slurmflex on the active controller's host.
func othersWork(err error) bool {
	return errors.Is(err, leader.ErrQueued) || errors.Is(err, leader.ErrStandby)
}

// outcome returns why a pass has failed, or what the next pass must do again.
func outcome(ctx context.Context, out flex.Outcome, err error) error {
	switch {
	case othersWork(err) && out.Failed == 0:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("pass interrupted: %w; the next one continues from there", context.Cause(ctx))
	case err != nil && !othersWork(err):
		return err
	case out.Failed > 0:
		return fmt.Errorf("%d of %d actions failed; the next pass retries", out.Failed, len(out.Plan.Actions))
	case out.Plan.Unseen > 0:
		return fmt.Errorf("%s could not be read; the next pass retries", view.Count(out.Plan.Unseen, "region"))
	}
	return nil
}
