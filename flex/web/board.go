package web

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"slurmflex/config"
	"slurmflex/flex"
	"slurmflex/flex/history"
	"slurmflex/flex/plan"
	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/scene"
	"slurmflex/flex/view"
)

// Board holds the observation of the daemon's last pass and the recent actions. It
// builds the view of a pass on the first request for it.
type Board struct {
	Fill    func(*view.View)  // adds estimates and prices to a view; may be nil
	History *history.Recorder // has the last day
	// Keep keeps what Fill adds up to date in each pass, even without requests; may be nil.
	Keep func(*scene.Scene, plan.Plan)

	now func() time.Time

	mu      sync.Mutex
	cfg     *config.Config
	problem string           // of the configuration file; empty: none
	shows   func() view.View // the view of the last pass; nil before the first pass
	actions []view.Action    // newest first
	begun   time.Time
	good    time.Time // when a pass last succeeded, here or on another host
	failed  error     // why the last pass failed
	tried   time.Time // when the last pass failed
}

// NewBoard returns an empty board for a daemon that starts now.
func NewBoard(cfg *config.Config, now func() time.Time) *Board {
	return &Board{cfg: cfg, now: now, begun: now()}
}

// Watcher returns what the board must see of the passes.
func (b *Board) Watcher() flex.Watcher { return flex.Watcher{Saw: b.saw, Did: b.did, Stood: b.stood} }

// saw records the observation of a pass.
func (b *Board) saw(s *scene.Scene, p plan.Plan) {
	if b.Keep != nil {
		b.Keep(s, p)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.shows = sync.OnceValue(func() view.View {
		v := view.Of(s, p)
		if b.Fill != nil {
			b.Fill(&v)
		}
		return v
	})
}

// Use makes the board follow another configuration.
func (b *Board) Use(cfg *config.Config) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.cfg = cfg
}

// cluster returns the name of the daemon's cluster.
func (b *Board) cluster() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.cfg.Cluster
}

// NoteConfig records the problem of the configuration file; empty means none.
func (b *Board) NoteConfig(problem string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.problem = problem
}

// did records an action.
func (b *Board) did(a action.Action, begun time.Time, took time.Duration, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.actions = withAction(b.actions, view.Record(a, begun, took, err))
}

// stood records the outcome of the last pass.
func (b *Board) stood(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failed, b.tried = err, b.now()
	if err == nil || flex.IsStandby(err) {
		b.good = b.now()
	}
}

// View returns what the daemon shows. Before the first pass it returns an error.
func (b *Board) View() (view.View, error) {
	b.mu.Lock()
	shows, failed := b.shows, b.failed
	b.mu.Unlock()
	switch {
	case shows == nil && failed != nil:
		return view.View{}, fmt.Errorf("the daemon has not completed a pass yet: %w", failed)
	case shows == nil:
		return view.View{}, errors.New("the daemon has just started; its first pass is running")
	}
	v := shows() // without the lock, because passes must not wait for it
	b.mu.Lock()
	defer b.mu.Unlock()
	daemon := view.Daemon{Interval: view.Seconds(b.cfg.Options.Interval), Standby: flex.IsStandby(b.failed)}
	if !b.good.IsZero() {
		daemon.LastGoodAt = b.good.UTC().Truncate(time.Second)
	}
	if b.failed != nil {
		daemon.Error, daemon.ErrorAt = b.failed.Error(), b.tried.UTC().Truncate(time.Second)
	}
	v.Daemon, v.Actions = &daemon, append([]view.Action{}, b.actions...)
	if b.problem != "" {
		v.Problems = append([]string{b.problem}, v.Problems...)
	}
	return v, nil
}

// margin is how much later than three intervals the next pass may end, because it takes time to
// read Slurm and Compute.
const margin = time.Minute

// healthy returns an error if no pass has succeeded for three intervals and a margin. A daemon on
// standby is healthy.
func (b *Board) healthy() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	since, what := b.good, "last successful pass"
	if since.IsZero() {
		since, what = b.begun, "no successful pass since the daemon started"
	}
	if age := b.now().Sub(since); age > 3*b.cfg.Options.Interval+margin {
		err := fmt.Errorf("%s %s ago", what, view.Span(age))
		if b.failed != nil {
			err = fmt.Errorf("%w: %w (as of %s)", err, b.failed, b.tried.UTC().Format("15:04:05 MST"))
		}
		return err
	}
	return nil
}
