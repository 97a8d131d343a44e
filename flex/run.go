package flex

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"go.uber.org/zap"
)

// The pace while something is expected to change: quick at first, slower the
// longer it takes.
const (
	soonest = 500 * time.Millisecond
	latest  = 10 * time.Second
)

// patience is how long the daemon's round waits for what it began. Slow
// operations go on beside the next rounds, so that one cannot hold up the rest.
const patience = 5 * time.Second

// Run makes rounds until ctx ends: one every interval, give or take a tenth,
// sooner when a hint comes or something is expected to change. It holds the
// lock as long as anything that it began is in flight.
func (r *Reconciler) Run(ctx context.Context, lock Lock, hints <-chan Hint) error {
	var release func() // nil while the lock is not held
	defer func() {
		if release != nil {
			release()
		}
	}()
	pace := soonest
	for ctx.Err() == nil {
		var out Outcome
		var err error
		if release == nil {
			release, err = lock.Take(ctx)
		}
		if err == nil {
			out, err = r.round(ctx, patience)
		}
		busy, _ := r.flights.state()
		if release != nil && !busy {
			release()
			release = nil
		}
		wait := r.jitter(r.Config.Options.Interval)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, ErrQueued): // another process makes this round
			wait = latest
		case err != nil:
			r.Log.Error("no round", zap.Error(err))
			pace = soonest
		case busy || out.Soon():
			wait, pace = min(pace, wait), min(2*pace, latest)
		default:
			pace = soonest
		}
		select {
		case <-ctx.Done():
		case h := <-hints:
			r.Log.Info("hint", zap.String("verb", h.Verb), zap.String("nodes", h.Nodes), zap.Uint32s("jobs", h.Jobs))
			pace = soonest
		case <-time.After(wait):
		}
	}
	return nil
}

// Settle makes rounds until nothing is under way that would soon need another,
// or the limit has passed. It does what a hook asks where no daemon runs, and
// leaves off at once if somebody else is about to.
func (r *Reconciler) Settle(ctx context.Context, lock Lock, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for pace := soonest; ; pace = min(2*pace, latest) {
		out, err := r.LockedRound(ctx, lock)
		switch {
		case errors.Is(err, ErrQueued):
			return nil
		case err != nil:
			return err
		case !out.Soon():
			return nil
		}
		select {
		case <-ctx.Done():
			return nil // cron's next sync goes on from here
		case <-time.After(pace):
		}
	}
}

// syncTries is how many rounds Sync makes at most.
const syncTries = 3

// Sync makes one round, and another one where an action failed: most often
// because a round that was cut off has left something half made.
func (r *Reconciler) Sync(ctx context.Context, lock Lock, only ...Filter) (out Outcome, err error) {
	for try := range syncTries {
		out, err = r.LockedRound(ctx, lock, only...)
		if err != nil || out.Failed == 0 || try == syncTries-1 {
			break
		}
		select {
		case <-ctx.Done():
			return out, ctx.Err()
		case <-time.After(soonest << try):
		}
	}
	return out, err
}

// LockedRound makes one round under the lock.
func (r *Reconciler) LockedRound(ctx context.Context, lock Lock, only ...Filter) (Outcome, error) {
	release, err := lock.Take(ctx)
	if err != nil {
		return Outcome{}, err
	}
	defer release()
	return r.Round(ctx, only...)
}

func (r *Reconciler) jitter(d time.Duration) time.Duration {
	if r.Jitter != nil {
		return r.Jitter(d)
	}
	return d - d/10 + rand.N(d/5+1)
}
