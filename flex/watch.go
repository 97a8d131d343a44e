package flex

import (
	"errors"
	"time"

	"slurmflex/flex/leader"
	"slurmflex/flex/plan"
	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/scene"
)

// Watcher observes what passes see and do, for reports to users and admins. Functions that are nil are
// not called. Actions report concurrently, and passes wait until the functions return.
type Watcher struct {
	// Saw is called in each pass before the pass acts.
	Saw func(s *scene.Scene, p plan.Plan)

	// Did is called when an action has ended. A nil error means success.
	Did func(a action.Action, begun time.Time, took time.Duration, err error)

	// Stood is called with nil when the daemon has made a pass, and with the reason when it has
	// not; see IsStandby.
	Stood func(err error)
}

// IsStandby reports whether a pass was not made because the host of the active controller makes it.
func IsStandby(err error) bool { return errors.Is(err, leader.ErrStandby) }

// Watchers are called in order.
type Watchers []Watcher

func (all Watchers) saw(s *scene.Scene, p plan.Plan) {
	for _, w := range all {
		if w.Saw != nil {
			w.Saw(s, p)
		}
	}
}

func (all Watchers) did(a action.Action, begun time.Time, took time.Duration, err error) {
	for _, w := range all {
		if w.Did != nil {
			w.Did(a, begun, took, err)
		}
	}
}

func (all Watchers) stood(err error) {
	for _, w := range all {
		if w.Stood != nil {
			w.Stood(err)
		}
	}
}
