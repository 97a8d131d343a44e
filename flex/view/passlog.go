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
	mu   sync.Mutex
	pass Pass
}

// NewPassLog returns an empty log of a pass.
func NewPassLog(cluster string) *PassLog {
	return &PassLog{pass: Pass{Envelope: EnvelopeOf("pass"), Cluster: cluster, Actions: []Action{}, Problems: []string{}}}
}

// Pass returns the record of the pass.
func (l *PassLog) Pass() Pass {
	l.mu.Lock()
	defer l.mu.Unlock()
	pass := l.pass
	pass.Actions = slices.Clone(pass.Actions)
	return pass
}

// Saw records the problems.
func (l *PassLog) Saw(_ *scene.Scene, p plan.Plan) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pass.Problems = append([]string{}, p.Problems.Texts()...)
}

// Did records an action. A retried action is recorded once, with its last outcome.
func (l *PassLog) Did(a action.Action, begun time.Time, took time.Duration, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	action := Record(a, begun, took, err)
	before := slices.IndexFunc(l.pass.Actions, func(old Action) bool { return old.What == action.What })
	if before >= 0 {
		if old := l.pass.Actions[before]; old.Error == action.Error {
			action.Times += old.Times
		}
		l.pass.Actions = slices.Delete(l.pass.Actions, before, before+1)
	}
	l.pass.Actions = append(l.pass.Actions, action)
}
