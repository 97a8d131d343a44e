package main

import (
	"errors"
	"io"
	"slices"
	"sync"
	"time"

	"slurmflex/flex"
	"slurmflex/flex/plan"
	"slurmflex/flex/plan/scene"
	"slurmflex/flex/view"
)

// did notes what a pass does. It is a flex.Watcher.
type did struct {
	mu   sync.Mutex
	pass view.Pass
}

func newDid(cluster string) *did {
	return &did{pass: view.Pass{Envelope: view.EnvelopeOf("pass"), Cluster: cluster, Actions: []view.Action{}, Problems: []string{}}}
}

// Saw notes the problems.
func (d *did) Saw(_ *scene.Scene, p plan.Plan) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pass.Problems = append([]string{}, p.Problems.Texts()...)
}

// Did notes an action. One that is tried again is noted once, with its last outcome.
func (d *did) Did(a plan.Action, begun time.Time, took time.Duration, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	action := view.Record(a, begun, took, err)
	before := slices.IndexFunc(d.pass.Actions, func(old view.Action) bool { return old.What == action.What })
	if before >= 0 {
		if old := d.pass.Actions[before]; old.Error == action.Error {
			action.Times += old.Times
		}
		d.pass.Actions = slices.Delete(d.pass.Actions, before, before+1)
	}
	d.pass.Actions = append(d.pass.Actions, action)
}

// Stood notes nothing: only the daemon calls it.
func (d *did) Stood(error) {}

// say writes what was done, unless there was no pass for an error.
func (d *did) say(w io.Writer, asJSON bool, err error) error {
	switch {
	case errors.Is(err, flex.ErrQueued), errors.Is(err, flex.ErrStandby):
		d.pass.Skipped = err.Error()
	case err != nil && len(d.pass.Actions) == 0:
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return write(w, asJSON, d.pass)
}
