package notify

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"slurmflex/config"
	"slurmflex/flex"
	"slurmflex/flex/leader"
	"slurmflex/flex/plan"
	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/scene"
	"slurmflex/flex/view"
)

// mostQueued is the number of events that may wait for the program. Older ones are dropped.
const mostQueued = 200

// droppedShown is how long status shows that events were dropped.
const droppedShown = time.Hour

// Notifier finds the events of passes and runs the program for them, one at a time, in the
// background. It is a flex.Watcher.
type Notifier struct {
	log  *zap.Logger
	now  func() time.Time
	wake chan struct{} // has an element when events may be queued

	mu      sync.Mutex
	cfg     *config.Config
	memory  memory
	queue   []Event
	failed  *scene.Problem // the program failed for the last event
	dropped int            // since the start
	last    time.Time      // when an event was last dropped
}

var _ flex.Watcher = (*Notifier)(nil)

// New returns a notifier. Run runs its program.
func New(cfg *config.Config, log *zap.Logger, now func() time.Time) *Notifier {
	return &Notifier{cfg: cfg, log: log, now: now, wake: make(chan struct{}, 1)}
}

// Use makes the notifier follow another configuration. Another program has not failed yet.
func (n *Notifier) Use(cfg *config.Config) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cfg, n.failed = cfg, nil
}

// Saw queues the events of a pass.
func (n *Notifier) Saw(s *scene.Scene, p plan.Plan) {
	n.mu.Lock()
	defer n.mu.Unlock()
	o := n.cfg.Options
	if o.NotifyProgram == "" {
		n.memory, n.queue = memory{}, nil
		return
	}
	for _, e := range n.memory.news(s, p) {
		if len(o.NotifyEvents) == 0 || slices.Contains(o.NotifyEvents, e.Kind) {
			n.queue = append(n.queue, e)
		}
	}
	if more := len(n.queue) - mostQueued; more > 0 {
		n.queue = slices.Delete(n.queue, 0, more)
		n.dropped, n.last = n.dropped+more, n.now()
		n.log.Warn("notifications dropped, because notify_program is too slow", zap.Int("dropped", more))
	}
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

// Run runs the program for queued events until ctx ends.
func (n *Notifier) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-n.wake:
		}
		for e, cfg := n.next(); e != nil && ctx.Err() == nil; e, cfg = n.next() {
			if output, err := run(ctx, cfg, *e); ctx.Err() == nil {
				n.ran(cfg.Options.NotifyProgram, *e, output, err)
			}
		}
	}
}

// next takes the oldest event from the queue; nil if there is none.
func (n *Notifier) next() (*Event, *config.Config) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.queue) == 0 || n.cfg.Options.NotifyProgram == "" {
		return nil, nil
	}
	e := n.queue[0]
	n.queue = slices.Delete(n.queue, 0, 1)
	return &e, n.cfg
}

// ran records how the program ended. Its output is only logged, because everyone can read problems.
func (n *Notifier) ran(program string, e Event, output string, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	fields := []zap.Field{zap.String("event", e.Kind), zap.String("id", e.id()), zap.String("output", output)}
	if err == nil {
		n.failed = nil
		n.log.Info("notified", fields...)
		return
	}
	n.log.Warn("notify_program failed", append(fields, zap.String("program", program), zap.Error(err))...)
	p := scene.NewProblem("notify-failed", e.name(), "notify_program %s failed for %s %s at %s: %v; its output is in the log",
		program, e.Kind, e.id(), e.At.UTC().Format("15:04:05 MST"), err)
	n.failed = &p
}

// Fill adds the notifier's problems to a view.
func (n *Notifier) Fill(v *view.View) {
	n.mu.Lock()
	defer n.mu.Unlock()
	var found scene.Problems
	if n.failed != nil {
		found = append(found, *n.failed)
	}
	if n.dropped > 0 && n.now().Sub(n.last) < droppedShown {
		found = append(found, scene.NewProblem("notify-dropped", "", "%d notifications were dropped since the daemon started, the last at %s, because notify_program is too slow: make it faster, or list fewer notify_events",
			n.dropped, n.last.UTC().Format("15:04:05 MST")))
	}
	v.AddProblems(found)
}

// Did notes nothing, because the next pass shows the effect of an action.
func (n *Notifier) Did(action.Action, time.Time, time.Duration, error) {}

// Stood forgets the observations when another host makes the passes, because that host reports the
// events.
func (n *Notifier) Stood(err error) {
	if errors.Is(err, leader.ErrStandby) {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.memory = memory{}
	}
}
