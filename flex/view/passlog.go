package view

import (
	"slices"
	"sync"
	"time"

	"slurmflex/flex/plan"
	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/scene"
)

// PassLog records what a pass does, for a flex.Watcher.
type PassLog struct {
	Cluster string

	mu       sync.Mutex
	actions  []Action
	problems []string
}

// Pass returns the record of the pass.
func (l *PassLog) Pass() Pass {
	l.mu.Lock()
	defer l.mu.Unlock()
	return Pass{Envelope: EnvelopeOf("pass"), Cluster: l.Cluster, Actions: append([]Action{}, l.actions...), Problems: append([]string{}, l.problems...)}
}

// Saw records the problems.
func (l *PassLog) Saw(_ *scene.Scene, p plan.Plan) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.problems = p.Problems.Texts()
}

// Did records an action. A retried action is recorded once, with its last outcome.
func (l *PassLog) Did(a action.Action, begun time.Time, took time.Duration, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	action := Record(a, begun, took, err)
	before := slices.IndexFunc(l.actions, func(old Action) bool { return old.What == action.What })
	if before >= 0 {
		if old := l.actions[before]; old.Error == action.Error {
			action.Times += old.Times
		}
		l.actions = slices.Delete(l.actions, before, before+1)
	}
	l.actions = append(l.actions, action)
}
