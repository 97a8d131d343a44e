package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"slurmflex/config"
	"slurmflex/flex"
	"slurmflex/flex/plan/action"
	"slurmflex/flex/takedown"
	"slurmflex/flex/terminal"
	"slurmflex/flex/view"
	"slurmflex/slurm/scontrol"
)

// down tears down a cluster or a nodeset, and talks about it with a person.
type down struct {
	flex.Down
	reach func(context.Context) error // finds out whether slurmctld answers

	in   io.Reader
	show func(fmt.Stringer) error // prints the report

	drain  bool // wait for running jobs to end
	now    bool // cancel jobs that Slurm would not requeue
	dryRun bool // only print the steps
	yes    bool // do not ask
}

// run shows what exists, asks, tears it down and reports what is left.
func (d *down) run(ctx context.Context) error {
	if d.Options.NodeSet != "" {
		if _, err := d.R.Config.NeedFlexSet(d.Options.NodeSet); err != nil {
			return config.Misuse(err)
		}
	}
	if !d.dryRun && !d.yes && !terminal.Is(d.in) {
		return config.Misusef("no terminal to ask for the cluster's name; to take it down without being asked: --yes")
	}
	d.Options.Jobs = d.jobs()
	if err := d.findSlurm(ctx); err != nil {
		return err
	}
	_, seen, err := d.Look(ctx)
	switch {
	case err != nil:
		return err
	case d.dryRun:
		return d.show(view.PlanOf(d.cluster(), seen.Steps, seen.Kept))
	}
	if !d.yes {
		if err := d.confirm(ctx, seen); err != nil {
			return err
		}
	}
	return d.tearDown(ctx)
}

func (d *down) cluster() string { return d.R.Config.Cluster }

func (d *down) jobs() takedown.Jobs {
	switch {
	case d.drain:
		return takedown.Drain
	case d.now:
		return takedown.Now
	}
	return takedown.Requeue
}

// findSlurm checks whether slurmctld answers. If it does not, Slurm is left out, which requires
// --now. Any other failure, such as a missing scontrol, is an error, because slurmctld may still
// run.
func (d *down) findSlurm(ctx context.Context) error {
	err := d.reach(ctx)
	switch {
	case err == nil || ctx.Err() != nil:
		return err
	case !errors.Is(err, scontrol.ErrNoController):
		return fmt.Errorf("nothing done, because Slurm could not be read; run it again once this works: %w", err)
	case !d.now:
		return fmt.Errorf("%w; to take down a cluster without slurmctld: slurmflex down --now", err)
	}
	d.say("slurmctld does not answer (%v): no partition is closed and no job requeued", err)
	d.Options.NoSlurm, d.Lock.Permission = true, nil
	return nil
}

// say writes a line to stderr.
func (d *down) say(format string, args ...any) {
	_, _ = fmt.Fprintf(os.Stderr, "down: "+format+"\n", args...)
}

// confirm asks the user to type the cluster's name.
func (d *down) confirm(ctx context.Context, p takedown.Plan) error {
	what := "cluster " + d.cluster()
	if d.Options.NodeSet != "" {
		what = "nodeset " + d.Options.NodeSet + " of " + what
	}
	d.say("%s: %s", what, p.Left)
	d.say("%s", jobsOf(p))
	for _, why := range p.Kept {
		d.say("stays: %s", why)
	}
	fmt.Fprint(os.Stderr, "Type the name of the cluster to take it down: ")
	name, err := terminal.Answer(ctx, d.in)
	switch {
	case err != nil:
		return fmt.Errorf("nothing done: %w", err)
	case name != d.cluster():
		return fmt.Errorf("nothing done: the cluster's name is %s", d.cluster())
	}
	return nil
}

// jobsOf counts jobs by how the plan handles them.
func jobsOf(p takedown.Plan) string {
	var requeued, cancelled, told int
	for _, s := range p.Steps {
		switch a := s.Action.(type) {
		case action.EndJob:
			if a.Then == action.Requeue {
				requeued++
			} else {
				cancelled++
			}
		case action.TellJob:
			told++
		}
	}
	return fmt.Sprintf("%s to requeue, %s to cancel, %s to leave alone",
		view.Count(requeued, "job"), view.Count(cancelled, "job"), view.Count(told, "job"))
}

// progressOf names what still exists and what the takedown waits for.
func progressOf(p takedown.Plan) string {
	text := "left: " + p.Left.String()
	if len(p.Waits) > 0 {
		text += "; waiting for " + p.Waits[0]
		if more := len(p.Waits) - 1; more > 0 {
			text += fmt.Sprintf(" and %d more", more)
		}
	}
	return text
}

// tearDown tears everything down and reports what is left.
func (d *down) tearDown(ctx context.Context) error {
	did := &view.PassLog{Cluster: d.cluster()}
	d.R.Watch = append(d.R.Watch, flex.Watcher{Saw: did.Saw, Did: did.Did})
	last := ""
	d.Say = func(p takedown.Plan) {
		text := progressOf(p)
		if text != last {
			d.say("%s", text)
		}
		last = text
	}
	left, err := d.Run(ctx)
	for _, command := range left.UndoEarlier {
		d.say("to undo, if an earlier down has closed it: %s", command)
	}
	if ctx.Err() != nil {
		err = fmt.Errorf("down interrupted: %w; run it again to continue", context.Cause(ctx))
	}
	if err != nil {
		for _, command := range left.Undo {
			d.say("to undo: %s", command)
		}
		return err
	}
	if err := d.show(view.TakedownOf(d.cluster(), d.Options.NodeSet, did.Pass().Actions, left)); err != nil || left.Done() {
		return err
	}
	return errors.New("not all is down; once what is named is fixed, run it again")
}
