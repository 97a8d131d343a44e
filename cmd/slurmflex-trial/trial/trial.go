// Package trial is the command slurmflex-trial. It checks in a project that Compute behaves as
// slurmflex expects. A trial creates a group and a few requests of one machine each, reads each
// answer, deletes everything, and compares its observations with a table of checks.
//
// Everything that a trial creates has names of its own and the ownership stamp of a cluster that
// cannot exist. Passes of real clusters therefore leave it alone, and the trial changes no other
// resources.
package trial

import (
	"context"
	"errors"
	"time"

	"slurmflex/mig/gce"
)

const (
	// callLimit bounds one call and its operation. Validating a request alone may take two minutes.
	callLimit = 4 * time.Minute
	pollPause = 2 * time.Second // between two snapshots while waiting
	goneLimit = 5 * time.Minute // for the deletion of a machine
)

// trial is one trial. Its methods are not safe for concurrent use.
type trial struct {
	seen
	cloud *gce.Client
	again *again            // carries the cloud's calls
	say   func(what string) // is called with a message before each step

	obstacle string // the first reason why later checks were skipped
	created  bool   // a group may have been created
}

// run makes the trial and deletes everything that the trial created, even if ctx ends. It finishes
// a call that has started, so that it knows what the call created.
func (t *trial) run(ctx context.Context) report {
	for _, s := range t.steps() {
		t.step(ctx, s)
	}
	if t.spec.elsewhere {
		t.give("another program than Compute serves region " + t.spec.region)
	}
	left, err := t.leave(ctx)
	return t.report(left, err)
}

// step executes a step if the steps that it needs were executed.
func (t *trial) step(ctx context.Context, s step) {
	if ctx.Err() != nil {
		t.give("interrupted")
		return
	}
	for _, name := range s.needs {
		r := t.results[name]
		if r != nil && r.err != nil {
			t.give(r.err.Error())
		}
		if !r.ok() {
			return
		}
	}
	if s.does != "" {
		t.say(s.does)
	}
	if l, err := s.run(ctx); !errors.Is(err, errSkipped) {
		t.note(s.name, l, err)
	}
}

// give records why the remaining checks are skipped.
func (t *trial) give(reason string) {
	if t.obstacle == "" {
		t.obstacle = reason
	}
}

// bounded gives an act a time limit of its own. The act continues after ctx has ended.
func bounded(do act) act {
	return func(ctx context.Context) (*snapshot, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callLimit)
		defer cancel()
		return do(ctx)
	}
}
