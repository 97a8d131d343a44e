package web

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"slurmflex/config"
	"slurmflex/flex"
	"slurmflex/flex/plan"
	"slurmflex/flex/view"
)

// Board holds what the daemon's last round saw and what it did of late, for
// those who ask. It is a flex.Watcher.
type Board struct {
	now func() time.Time

	mu      sync.Mutex
	cfg     *config.Config
	problem string     // of the configuration file; empty if there is none
	seen    *view.View // nil before the first round
	history view.History
	begun   time.Time
	good    time.Time // when the last round was made, here or on another host
	trouble error     // why the last round was not made
	tried   time.Time // when that was
}

var _ flex.Watcher = (*Board)(nil)

// NewBoard makes an empty board for a daemon that begins now.
func NewBoard(cfg *config.Config, now func() time.Time) *Board {
	return &Board{cfg: cfg, now: now, begun: now()}
}

// Saw notes what a round saw.
func (b *Board) Saw(snap plan.Snapshot, p plan.Plan) {
	b.mu.Lock()
	defer b.mu.Unlock()
	seen := view.Of(b.cfg, snap, p)
	b.seen = &seen
}

// Use has the board go by another configuration.
func (b *Board) Use(cfg *config.Config) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.cfg = cfg
}

// Cluster is the name of the cluster that the daemon serves.
func (b *Board) Cluster() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.cfg.Cluster
}

// NoteConfig notes what is to know about the configuration file; empty if
// nothing is.
func (b *Board) NoteConfig(problem string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.problem = problem
}

// Did notes an action.
func (b *Board) Did(a plan.Action, begun time.Time, took time.Duration, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.history.Add(view.Record(a, begun, took, err))
}

// Stood notes how the last round went.
func (b *Board) Stood(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.trouble, b.tried = err, b.now()
	if err == nil || errors.Is(err, flex.ErrStandby) {
		b.good = b.now()
	}
}

// View is what there is to see. Before the first round it is an error.
func (b *Board) View() (view.View, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	rounds := view.Rounds{Interval: view.Seconds(b.cfg.Options.Interval), Standby: errors.Is(b.trouble, flex.ErrStandby)}
	if !b.good.IsZero() {
		rounds.LastGoodAt = b.good.UTC().Truncate(time.Second)
	}
	if b.trouble != nil {
		rounds.Trouble, rounds.TroubleAt = b.trouble.Error(), b.tried.UTC().Truncate(time.Second)
	}
	switch {
	case b.seen == nil && b.trouble != nil:
		return view.View{}, fmt.Errorf("the daemon has made no round yet: %w", b.trouble)
	case b.seen == nil:
		return view.View{}, errors.New("the daemon has only just begun: its first round is under way")
	}
	v := *b.seen
	v.Rounds, v.Actions = &rounds, b.history.Last()
	if b.problem != "" {
		v.Problems = append([]string{b.problem}, v.Problems...)
	}
	return v, nil
}

// margin is how much longer than three intervals a round may take to come:
// reading Slurm and Compute has its time.
const margin = time.Minute

// Healthy is nil unless no round was made for three intervals and a margin. A
// daemon that stands by for another host is healthy.
func (b *Board) Healthy() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	since, what := b.good, "the last round was made"
	if since.IsZero() {
		since, what = b.begun, "no round was made since the daemon began"
	}
	if age := b.now().Sub(since); age > 3*b.cfg.Options.Interval+margin {
		err := fmt.Errorf("%s %s ago", what, view.Span(age))
		if b.trouble != nil {
			err = fmt.Errorf("%w: %w (as of %s)", err, b.trouble, b.tried.UTC().Format("15:04:05 MST"))
		}
		return err
	}
	return nil
}
