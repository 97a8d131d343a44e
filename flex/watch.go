package flex

import (
	"time"

	"slurmflex/flex/plan"
	"slurmflex/flex/plan/scene"
)

// Watcher is told what passes see and do, so that people can be. Actions are
// told of side by side, and passes wait for the answers.
type Watcher interface {
	// Saw is called in each pass before it acts.
	Saw(s *scene.Scene, p plan.Plan)

	// Did is called when an action is over. The error is nil if it was done.
	Did(a plan.Action, begun time.Time, took time.Duration, err error)

	// Stood is called when the daemon has made a pass, with nil, or has not,
	// with the reason. ErrStandby is one of them.
	Stood(err error)
}

// Watchers are all told the same, one after the other.
type Watchers []Watcher

// Saw says all of them.
func (all Watchers) Saw(s *scene.Scene, p plan.Plan) {
	for _, w := range all {
		w.Saw(s, p)
	}
}

// Did says all of them.
func (all Watchers) Did(a plan.Action, begun time.Time, took time.Duration, err error) {
	for _, w := range all {
		w.Did(a, begun, took, err)
	}
}

// Stood says all of them.
func (all Watchers) Stood(err error) {
	for _, w := range all {
		w.Stood(err)
	}
}
