package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"slurmflex/config"
	"slurmflex/flex"
	"slurmflex/flex/takedown"
	"slurmflex/flex/terminal"
	"slurmflex/flex/usage"
	"slurmflex/flex/view"
	"slurmflex/slurm/scontrol"
)

// takeDown is one call of the down command.
type takeDown struct {
	app                     *app
	nodeSet                 string
	drain, now, dryRun, yes bool
	json                    bool
	in                      io.Reader
	out                     io.Writer
}

func newDown(a *app) *cobra.Command {
	d := &takeDown{app: a}
	cmd := &cobra.Command{
		Use: "down", Short: "Take the cluster or a nodeset down: jobs, requests, machines and groups", GroupID: "run", Args: noArguments,
		Long: `Close the partitions of the flex nodes, requeue their jobs, power the nodes down,
cancel the requests, and delete the machines, groups, workload policies and
reservations of this cluster. Where a partition also has other nodes, its flex
nodes are drained instead. Jobs that Slurm would not requeue keep their nodes,
and their owners are notified, unless --drain or --now is given.

It needs no stop of the daemon or cron, and run again it continues where it was
interrupted. At the end it prints what is left and why, and the commands that
open the partitions again. Exit status: 0 if nothing is left, otherwise 1.

It must run as SlurmUser. If slurmctld does not answer, because the cluster is
being deleted, it needs --now and leaves Slurm out.`,
		Example: `  slurmflex down --dry-run
  slurmflex down --nodeset a3 --drain
  slurmflex down --now --yes`,
		RunE: a.reconciling(func(cmd *cobra.Command, r *flex.Reconciler) error {
			d.in, d.out = cmd.InOrStdin(), cmd.OutOrStdout()
			return d.run(cmd.Context(), r)
		}),
	}
	cmd.Flags().StringVar(&d.nodeSet, "nodeset", "", "take down only this `nodeset`")
	cmd.Flags().BoolVar(&d.drain, "drain", false, "let running jobs end first, and wait for them")
	cmd.Flags().BoolVar(&d.now, "now", false, "cancel jobs that Slurm would not requeue")
	cmd.Flags().BoolVar(&d.dryRun, "dry-run", false, "only print the steps")
	cmd.Flags().BoolVar(&d.yes, "yes", false, "do not ask for the cluster's name")
	exclude(cmd, "drain", "now")
	exclude(cmd, "dry-run", "yes")
	jsonFlag(cmd, &d.json)
	completeFlags(cmd, map[string]cobra.CompletionFunc{"nodeset": a.complete(nodeSets)})
	return cmd
}

func (d *takeDown) run(ctx context.Context, r *flex.Reconciler) error {
	if d.nodeSet != "" {
		if _, err := r.Config.NeedFlexSet(d.nodeSet); err != nil {
			return usage.Wrap(err)
		}
	}
	if !d.dryRun && !d.yes && !terminal.Is(d.in) {
		return usage.Errorf("no terminal to ask for the cluster's name; to take it down without being asked: --yes")
	}
	down := &flex.Down{R: r, Lock: d.app.lock(r.Config), Partitions: d.app.scheduler(r.Config), Options: takedown.Options{NodeSet: d.nodeSet, Jobs: d.jobs()}}
	over := d.app.progress.Begin("reading Slurm and Compute")
	err := d.findSlurm(ctx, r.Config, down)
	var seen takedown.Plan
	if err == nil {
		seen, err = down.Look(ctx)
	}
	over()
	switch {
	case err != nil:
		return err
	case d.dryRun:
		return view.Write(d.out, d.json, view.StepsOf(r.Config.Cluster, seen))
	}
	if !d.yes {
		if err := d.confirm(ctx, r.Config.Cluster, seen); err != nil {
			return err
		}
	}
	return d.takeDown(ctx, down)
}

func (d *takeDown) jobs() takedown.Jobs {
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
func (d *takeDown) findSlurm(ctx context.Context, cfg *config.Config, down *flex.Down) error {
	err := d.app.scheduler(cfg).Reach(ctx)
	switch {
	case err == nil || ctx.Err() != nil:
		return err
	case !errors.Is(err, scontrol.ErrNoController):
		return fmt.Errorf("nothing done, because Slurm could not be read; run it again once this works: %w", err)
	case !d.now:
		return fmt.Errorf("%w; to take down a cluster without slurmctld: slurmflex down --now", err)
	}
	d.say("slurmctld does not answer (%v): no partition is closed and no job requeued", err)
	down.Options.NoSlurm, down.Lock.Permission = true, nil
	return nil
}

// say writes a line to stderr.
func (d *takeDown) say(format string, args ...any) {
	_, _ = fmt.Fprintf(&d.app.progress, "down: "+format+"\n", args...)
}

// confirm asks the user to type the cluster's name.
func (d *takeDown) confirm(ctx context.Context, cluster string, p takedown.Plan) error {
	what := "cluster " + cluster
	if d.nodeSet != "" {
		what = "nodeset " + d.nodeSet + " of " + what
	}
	d.say("%s: %s", what, p.Left)
	d.say("%s", p.Jobs())
	for _, why := range p.Kept {
		d.say("stays: %s", why)
	}
	fmt.Fprint(os.Stderr, "Type the name of the cluster to take it down: ")
	name, err := terminal.Answer(ctx, d.in)
	switch {
	case err != nil:
		return fmt.Errorf("nothing done: %w", err)
	case name != cluster:
		return fmt.Errorf("nothing done: the cluster's name is %s", cluster)
	}
	return nil
}

// takeDown tears the cluster down and reports the remaining objects.
func (d *takeDown) takeDown(ctx context.Context, down *flex.Down) error {
	did := view.NewPassLog(down.R.Config.Cluster)
	down.R.Watch = flex.Watchers{down.R.Watch, &d.app.progress, did}
	last := ""
	down.Say = func(p takedown.Plan) {
		text := p.Progress()
		if text != last {
			d.say("%s", text)
		}
		last = text
	}
	over := d.app.progress.Begin("taking the cluster down")
	left, err := down.Run(ctx)
	over()
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("down interrupted: %w; run it again to continue", context.Cause(ctx))
	case err != nil:
		return err
	}
	for _, command := range left.UndoEarlier {
		d.say("to undo, if an earlier down has closed it: %s", command)
	}
	if err := view.Write(d.out, d.json, view.TakedownOf(down.R.Config.Cluster, d.nodeSet, did.Pass().Actions, left)); err != nil || left.Done() {
		return err
	}
	return errors.New("not all is down; once what is named is fixed, run it again")
}
