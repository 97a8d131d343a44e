package flex

import (
	"time"

	"slurmflex/flex/plan"
)

// Watcher is told what rounds see and do, so that people can be. Actions are
// told of side by side, and rounds wait for the answers.
type Watcher interface {
	// Saw is called in each round before it acts.
	Saw(snap plan.Snapshot, p plan.Plan)

	// Did is called when an action is over. The error is nil if it was done.
	Did(a plan.Action, begun time.Time, took time.Duration, err error)

	// Stood is called when the daemon has made a round, with nil, or has not,
	// with the reason. ErrStandby is one of them.
	Stood(err error)
}

// Watchers are all told the same, one after the other.
type Watchers []Watcher

// Saw tells all of them.
func (all Watchers) Saw(snap plan.Snapshot, p plan.Plan) {
	for _, w := range all {
		w.Saw(snap, p)
	}
}

// Did tells all of them.
func (all Watchers) Did(a plan.Action, begun time.Time, took time.Duration, err error) {
	for _, w := range all {
		w.Did(a, begun, took, err)
	}
}

// Stood tells all of them.
func (all Watchers) Stood(err error) {
	for _, w := range all {
		w.Stood(err)
	}
}
