package command

import (
	"context"
	"errors"
	"fmt"
	"os"

	"slurmflex/config"
	"slurmflex/flex"
	"slurmflex/flex/leader"
	"slurmflex/flex/takedown"
	"slurmflex/flex/terminal"
	"slurmflex/flex/view"
	"slurmflex/slurm/scontrol"
)

// scheduler is the part of Slurm that Down needs besides the reconciler's.
type scheduler interface {
	flex.PartitionCloser
	Reach(ctx context.Context) error // finds out whether slurmctld answers
}

// Down tears down a cluster or a nodeset.
type Down struct {
	Terminal
	NodeSet string // only this nodeset; empty: the whole cluster
	Drain   bool   // wait for running jobs to end
	Now     bool   // cancel jobs that Slurm would not requeue
	DryRun  bool   // only print the steps
	Yes     bool   // do not ask

	R     *flex.Reconciler
	Lock  leader.Lock
	Slurm scheduler
}

// Run shows what exists, asks, tears it down and reports what is left.
func (d *Down) Run(ctx context.Context) error {
	if d.NodeSet != "" {
		if _, err := d.R.Config.NeedFlexSet(d.NodeSet); err != nil {
			return config.Misuse(err)
		}
	}
	if !d.DryRun && !d.Yes && !terminal.Is(d.In) {
		return config.Misusef("no terminal to ask for the cluster's name; to take it down without being asked: --yes")
	}
	down := &flex.Down{R: d.R, Lock: d.Lock, Partitions: d.Slurm, Options: takedown.Options{NodeSet: d.NodeSet, Jobs: d.jobs()}}
	seen, err := d.look(ctx, down)
	switch {
	case err != nil:
		return err
	case d.DryRun:
		return view.Write(d.Out, d.JSON, view.PlanOf(d.cluster(), seen.Steps, seen.Kept))
	}
	if !d.Yes {
		if err := d.confirm(ctx, seen); err != nil {
			return err
		}
	}
	return d.tearDown(ctx, down)
}

func (d *Down) cluster() string { return d.R.Config.Cluster }

func (d *Down) jobs() takedown.Jobs {
	switch {
	case d.Drain:
		return takedown.Drain
	case d.Now:
		return takedown.Now
	}
	return takedown.Requeue
}

func (d *Down) look(ctx context.Context, down *flex.Down) (takedown.Plan, error) {
	if err := d.findSlurm(ctx, down); err != nil {
		return takedown.Plan{}, err
	}
	return down.Look(ctx)
}

// findSlurm checks whether slurmctld answers. If it does not, Slurm is left out, which requires
// --now. Any other failure, such as a missing scontrol, is an error, because slurmctld may still
// run.
func (d *Down) findSlurm(ctx context.Context, down *flex.Down) error {
	err := d.Slurm.Reach(ctx)
	switch {
	case err == nil || ctx.Err() != nil:
		return err
	case !errors.Is(err, scontrol.ErrNoController):
		return fmt.Errorf("nothing done, because Slurm could not be read; run it again once this works: %w", err)
	case !d.Now:
		return fmt.Errorf("%w; to take down a cluster without slurmctld: slurmflex down --now", err)
	}
	d.say("slurmctld does not answer (%v): no partition is closed and no job requeued", err)
	down.Options.NoSlurm, down.Lock.Permission = true, nil
	return nil
}

// say writes a line to stderr.
func (d *Down) say(format string, args ...any) {
	_, _ = fmt.Fprintf(os.Stderr, "down: "+format+"\n", args...)
}

// confirm asks the user to type the cluster's name.
func (d *Down) confirm(ctx context.Context, p takedown.Plan) error {
	what := "cluster " + d.cluster()
	if d.NodeSet != "" {
		what = "nodeset " + d.NodeSet + " of " + what
	}
	d.say("%s: %s", what, p.Left)
	d.say("%s", p.Jobs())
	for _, why := range p.Kept {
		d.say("stays: %s", why)
	}
	fmt.Fprint(os.Stderr, "Type the name of the cluster to take it down: ")
	name, err := terminal.Answer(ctx, d.In)
	switch {
	case err != nil:
		return fmt.Errorf("nothing done: %w", err)
	case name != d.cluster():
		return fmt.Errorf("nothing done: the cluster's name is %s", d.cluster())
	}
	return nil
}

// tearDown tears everything down and reports what is left.
func (d *Down) tearDown(ctx context.Context, down *flex.Down) error {
	did := view.NewPassLog(d.cluster())
	d.R.Watch = flex.Watchers{d.R.Watch, did}
	last := ""
	down.Say = func(p takedown.Plan) {
		text := p.Progress()
		if text != last {
			d.say("%s", text)
		}
		last = text
	}
	left, err := down.Run(ctx)
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
	if err := view.Write(d.Out, d.JSON, view.TakedownOf(d.cluster(), d.NodeSet, did.Pass().Actions, left)); err != nil || left.Done() {
		return err
	}
	return errors.New("not all is down; once what is named is fixed, run it again")
}
