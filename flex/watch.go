package flex

import (
	"errors"
	"time"

	"slurmflex/flex/leader"
	"slurmflex/flex/plan"
	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/scene"
)

// Watcher observes what passes see and do, for reports to users and admins. Actions report
// concurrently, and passes wait until the methods return.
type Watcher interface {
	// Saw is called in each pass before the pass acts.
	Saw(s *scene.Scene, p plan.Plan)

	// Did is called when an action has ended. A nil error means success.
	Did(a action.Action, begun time.Time, took time.Duration, err error)

	// Stood is called with nil when the daemon has made a pass, and with the reason when it has
	// not; see IsStandby.
	Stood(err error)
}

// IsStandby reports whether a pass was not made because the host of the active controller makes it.
func IsStandby(err error) bool { return errors.Is(err, leader.ErrStandby) }

// Watchers forwards each call to all its elements, in order.
type Watchers []Watcher

// Saw calls Saw of each element.
func (all Watchers) Saw(s *scene.Scene, p plan.Plan) {
	for _, w := range all {
		w.Saw(s, p)
	}
}

// Did calls Did of each element.
func (all Watchers) Did(a action.Action, begun time.Time, took time.Duration, err error) {
	for _, w := range all {
		w.Did(a, begun, took, err)
	}
}

// Stood calls Stood of each element.
func (all Watchers) Stood(err error) {
	for _, w := range all {
		w.Stood(err)
	}
}
