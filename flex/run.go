package flex

import (
	"context"
	"errors"
	"slices"
	"time"

	"go.uber.org/zap"

	"slurmflex/flex/apply"
	"slurmflex/flex/leader"
	"slurmflex/flex/plan"
	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/demand"
	"slurmflex/flex/wake"
)

// How long a pass waits for its actions. In the daemon, slow operations continue during the next passes, so
// that one operation cannot delay the others.
const (
	patience   = 5 * time.Second
	untilEnded = 2 * apply.Limit
)

// Run reconciles until ctx ends. It makes one pass per interval, or up to a seventh sooner. It
// makes a pass immediately when a wake-up arrives or a change is expected, and less and less often
// while Slurm cannot be read. It holds the lock as long as any of its actions is in progress, and
// starts no further ones in Compute while another process waits for the lock; see turn. It fails if
// it runs as a user other than SlurmUser.
func (r *Reconciler) Run(ctx context.Context, lock leader.Lock, wakeUps <-chan wake.Call) error {
	turn := turn{lock: lock, taken: func() { r.sign(lock) }}
	defer turn.end()
	pace := pace{jitter: r.jitter}
	var state stance
	for ctx.Err() == nil {
		pace.interval = r.Config.Options.Interval
		var out Outcome
		only, err := turn.take(ctx, r.Now())
		if err == nil {
			err = lock.Permission.Check(ctx)
		}
		if err == nil {
			out, err = r.pass(ctx, patience, only...)
		}
		landed := r.flights.Landed()
		if landed == nil {
			turn.end()
		}
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, leader.ErrNotSlurmUser):
			return err
		}
		state.tell(r.Log, err)
		if errors.Is(err, leader.ErrStandby) {
			r.memory.StandBy()
		}
		if !errors.Is(err, leader.ErrQueued) {
			r.Watch.stood(err)
		}
		select {
		case <-ctx.Done():
		case h := <-wakeUps:
			r.Log.Info("wake-up", zap.String("verb", h.Verb), zap.String("nodes", h.Nodes), zap.Uint32s("jobs", h.Jobs))
			pace.hurry()
		case change := <-r.Between:
			change()
			pace.hurry()
		case <-landed: // the next pass acts on the result
			pace.hurry()
		case <-time.After(pace.next(err, landed != nil || out.soon() || only != nil)):
		}
	}
	return nil
}

// turn is the daemon's hold on the lock. It extends over several passes, and might never end on a
// busy cluster. So these passes start no actions in Compute while another process waits for the
// lock, until the actions in progress have ended. If that takes longer than apply.Limit, one pass
// starts them again.
type turn struct {
	lock    leader.Lock
	taken   func()    // called when the lock was taken
	release func()    // nil while the lock is not held
	yields  time.Time // since when passes start no actions in Compute; zero: they do
}

// take takes the lock, unless it is held already. It returns what limits the actions of the pass.
func (t *turn) take(ctx context.Context, now time.Time) (only []Filter, err error) {
	switch {
	case t.release == nil:
		if t.release, err = t.lock.Take(ctx, false); err == nil {
			t.taken()
		}
		return nil, err
	case !t.lock.Awaited() || !t.yields.IsZero() && now.Sub(t.yields) >= apply.Limit:
		t.yields = time.Time{}
		return nil, nil
	case t.yields.IsZero():
		t.yields = now
	}
	return []Filter{onlyInSlurm}, nil
}

// end releases the lock if it is held.
func (t *turn) end() {
	if t.release != nil {
		t.release()
	}
	t.release, t.yields = nil, time.Time{}
}

// onlyInSlurm drops the actions in Compute, and adds the reason to the waits of the nodes concerned.
// Those in Slurm are short, and some must not be late: doors are moved ahead, jobs are signalled.
func onlyInSlurm(p plan.Plan) plan.Plan {
	dropped := map[string]bool{}
	var kept []action.Action
	for _, a := range p.Actions {
		if apply.InSlurm(a) {
			kept = append(kept, a)
			continue
		}
		for _, name := range action.About(a).Nodes {
			dropped[name] = true
		}
	}
	p.Actions, p.Waits = kept, slices.Clone(p.Waits)
	for i := range p.Waits {
		if w := &p.Waits[i]; w.Stage == demand.Requesting && slices.ContainsFunc(w.Nodes, func(name string) bool { return dropped[name] }) {
			w.Stage, w.Obstacle = demand.Waiting, "another slurmflex process acts first"
		}
	}
	return p
}

// stance is why the daemon does not reconcile; empty while it does.
type stance string

// tell logs each change of stance once. A queued pass of another process is not a change.
func (s *stance) tell(log *zap.Logger, err error) {
	var now stance
	if err != nil {
		now = stance(err.Error())
	}
	switch {
	case errors.Is(err, leader.ErrQueued) || now == *s:
		return
	case err == nil:
		log.Info("reconciling again")
	case errors.Is(err, leader.ErrStandby):
		log.Info("standing by", zap.Error(err))
	default:
		log.Error("cannot reconcile", zap.Error(err))
	}
	*s = now
}

// Settle reconciles until nothing under way will soon need another pass, or the limit has passed.
// It serves hooks on hosts without a daemon. It stops immediately if another process, here or on
// another host, will reconcile.
func (r *Reconciler) Settle(ctx context.Context, lock leader.Lock, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for pace := soonest; ; pace = min(2*pace, latest) {
		out, err := r.lockedPass(ctx, lock)
		switch {
		case errors.Is(err, leader.ErrQueued), errors.Is(err, leader.ErrStandby):
			return nil
		case err != nil:
			return err
		case !out.soon():
			return nil
		}
		select {
		case <-ctx.Done():
			return nil // cron's next sync continues
		case <-time.After(pace):
		}
	}
}

// syncTries is the maximum number of passes of one Sync.
const syncTries = 3

// Sync makes one pass, and further passes if an action failed. The usual cause is a half-finished
// change of an interrupted pass. It returns the outcome of the last pass that it could make.
func (r *Reconciler) Sync(ctx context.Context, lock leader.Lock, only ...Filter) (out Outcome, err error) {
	for try := range syncTries {
		var made Outcome
		if made, err = r.lockedPass(ctx, lock, only...); err == nil {
			out = made
		}
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

// lockedPass makes one pass under the lock.
func (r *Reconciler) lockedPass(ctx context.Context, lock leader.Lock, only ...Filter) (Outcome, error) {
	release, err := lock.Take(ctx, len(only) > 0)
	if err != nil {
		return Outcome{}, err
	}
	defer release()
	if err := lock.Permission.Check(ctx); err != nil {
		return Outcome{}, err
	}
	r.sign(lock)
	return r.pass(ctx, untilEnded, only...)
}

// sign signs the lock, which this process holds. If another process has held it since this one's
// last pass, the AdminComments that this process remembers may be out of date, and are read again.
func (r *Reconciler) sign(lock leader.Lock) {
	found, left := lock.Sign()
	if found == "" || found != r.mark {
		r.memory.ReadOwnersAgain()
	}
	r.mark = left
}
