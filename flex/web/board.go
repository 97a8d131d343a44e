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
	cfg *config.Config
	now func() time.Time

	mu      sync.Mutex
	seen    *view.View // nil before the first round
	history view.History
	begun   time.Time
	good    time.Time // when the last round was made, here or on another host
	trouble error     // why the last round was not made
}

var _ flex.Watcher = (*Board)(nil)

// NewBoard makes an empty board for a daemon that begins now.
func NewBoard(cfg *config.Config, now func() time.Time) *Board {
	return &Board{cfg: cfg, now: now, begun: now()}
}

// Saw notes what a round saw.
func (b *Board) Saw(snap plan.Snapshot, p plan.Plan) {
	seen := view.Of(b.cfg, snap, p)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.seen = &seen
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
	b.trouble = err
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
		rounds.Trouble = b.trouble.Error()
	}
	switch {
	case b.seen == nil && b.trouble != nil:
		return view.View{}, fmt.Errorf("the daemon has made no round yet: %w", b.trouble)
	case b.seen == nil:
		return view.View{}, errors.New("the daemon has only just begun: its first round is under way")
	}
	v := *b.seen
	v.Rounds, v.Actions = &rounds, b.history.Last()
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
			err = fmt.Errorf("%w: %w", err, b.trouble)
		}
		return err
	}
	return nil
}
