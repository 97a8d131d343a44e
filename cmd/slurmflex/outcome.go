package main

import (
	"context"
	"errors"
	"fmt"

	"slurmflex/flex"
	"slurmflex/flex/leader"
	"slurmflex/flex/view"
)

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
