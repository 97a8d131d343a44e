package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"slurmflex/config"
	"slurmflex/flex"
	"slurmflex/flex/plan"
	"slurmflex/flex/takedown"
	"slurmflex/flex/terminal"
	"slurmflex/flex/view"
	"slurmflex/slurm/scontrol"
)

// takenDown is what down has done.
type takenDown struct {
	view.Envelope
	Cluster string        `json:"cluster"`
	NodeSet string        `json:"nodeset,omitempty"` // only this one
	Actions []view.Action `json:"actions"`           // in the order in which they ended
	Left    takedown.Left `json:"left"`
	Reasons []string      `json:"reasons"` // why something is left
	Undo    []string      `json:"undo"`    // commands
}

// String says what is left, and why, and how to undo what Slurm was told.
func (d takenDown) String() string {
	var text strings.Builder
	for _, command := range d.Undo {
		fmt.Fprintln(&text, "to undo:", command)
	}
	for _, why := range d.Reasons {
		fmt.Fprintln(&text, "left:", why)
	}
	fmt.Fprintf(&text, "down: left behind: %s\n", d.Left)
	return text.String()
}

// takeDown is a call of down.
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
		RunE: func(cmd *cobra.Command, _ []string) error {
			d.in, d.out = cmd.InOrStdin(), cmd.OutOrStdout()
			return a.withReconciler(cmd.Context(), d.run)
		},
	}
	cmd.Flags().StringVar(&d.nodeSet, "nodeset", "", "take down only this `nodeset`")
	cmd.Flags().BoolVar(&d.drain, "drain", false, "let running jobs end first, and wait for them")
	cmd.Flags().BoolVar(&d.now, "now", false, "cancel jobs that Slurm would not requeue")
	cmd.Flags().BoolVar(&d.dryRun, "dry-run", false, "only print the steps")
	cmd.Flags().BoolVar(&d.yes, "yes", false, "do not ask for the cluster's name")
	cmd.MarkFlagsMutuallyExclusive("drain", "now")
	cmd.MarkFlagsMutuallyExclusive("dry-run", "yes")
	jsonFlag(cmd, &d.json)
	completeFlags(cmd, map[string]cobra.CompletionFunc{"nodeset": a.complete(nodeSets)})
	return cmd
}

func (d *takeDown) run(ctx context.Context, r *flex.Reconciler) error {
	switch {
	case d.nodeSet != "" && !r.Config.HasFlexSet(d.nodeSet):
		return unknownNodeSet(d.nodeSet, names(r.Config))
	case !d.dryRun && !d.yes && !terminal.Is(d.in):
		return usageError{errors.New("no terminal to ask for the cluster's name; to take it down without being asked: --yes")}
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
		return write(d.out, d.json, stepsOf(r.Config.Cluster, seen))
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

// How often slurmctld is asked before it counts as gone, which a restart is not.
const (
	slurmTries = 3
	slurmPause = 2 * time.Second
)

// findSlurm finds out whether slurmctld answers. If it does not, Slurm is left out, which
// takes --now. What else fails, such as scontrol, says nothing of slurmctld.
func (d *takeDown) findSlurm(ctx context.Context, cfg *config.Config, down *flex.Down) (err error) {
	for try := range slurmTries {
		_, err = d.app.scheduler(cfg).Config(ctx)
		switch {
		case err == nil || ctx.Err() != nil:
			return err
		case !errors.Is(err, scontrol.ErrNoController):
			return fmt.Errorf("nothing done, because Slurm could not be read; run it again once this works: %w", err)
		}
		if try < slurmTries-1 {
			select {
			case <-ctx.Done():
			case <-time.After(slurmPause):
			}
		}
	}
	if !d.now {
		return fmt.Errorf("%w; to take down a cluster without slurmctld: slurmflex down --now", err)
	}
	d.say("slurmctld does not answer (%v): no partition is closed and no job requeued", err)
	down.Options.NoSlurm, down.Lock.Permission = true, nil
	return nil
}

// say writes a line on stderr.
func (d *takeDown) say(format string, args ...any) {
	_, _ = fmt.Fprintf(&d.app.progress, "down: "+format+"\n", args...)
}

// stepsOf are the steps as a plan, for --dry-run.
func stepsOf(cluster string, p takedown.Plan) view.Plan {
	steps := plan.Plan{}
	for _, s := range p.Steps {
		steps.Actions = append(steps.Actions, s)
	}
	of := view.PlanOf(cluster, steps)
	of.Problems = append(of.Problems, p.Kept...)
	return of
}

// confirm asks for the cluster's name.
func (d *takeDown) confirm(ctx context.Context, cluster string, p takedown.Plan) error {
	what := "cluster " + cluster
	if d.nodeSet != "" {
		what = "nodeset " + d.nodeSet + " of " + what
	}
	d.say("%s: %s", what, p.Left)
	d.say("%s", becomesOf(p))
	for _, why := range p.Kept {
		d.say("stays: %s", why)
	}
	fmt.Fprint(os.Stderr, "Type the name of the cluster to take it down: ")
	answer := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(d.in).ReadString('\n')
		answer <- strings.TrimSpace(line)
	}()
	select {
	case <-ctx.Done():
		return fmt.Errorf("nothing done: %w", context.Cause(ctx))
	case name := <-answer:
		if name != cluster {
			return fmt.Errorf("nothing done: the cluster's name is %s", cluster)
		}
	}
	return nil
}

// becomesOf says what becomes of how many jobs.
func becomesOf(p takedown.Plan) string {
	var requeued, cancelled, told int
	for _, s := range p.Steps {
		switch a := s.Action.(type) {
		case takedown.EndJob:
			if a.Then == plan.Requeue {
				requeued++
			} else {
				cancelled++
			}
		case takedown.TellJob:
			told++
		}
	}
	return fmt.Sprintf("%s to requeue, %s to cancel, %s to leave alone", view.Count(requeued, "job"), view.Count(cancelled, "job"), view.Count(told, "job"))
}

// takeDown takes it down, and says what is left.
func (d *takeDown) takeDown(ctx context.Context, down *flex.Down) error {
	did := newDid(down.R.Config.Cluster)
	down.R.Watch = flex.Watchers{down.R.Watch, &d.app.progress, did}
	last := ""
	down.Say = func(p takedown.Plan) {
		text := "there are " + p.Left.String()
		if len(p.Waits) > 0 {
			text += "; waiting for " + p.Waits[0]
			if more := len(p.Waits) - 1; more > 0 {
				text += fmt.Sprintf(" and %d more", more)
			}
		}
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
	done := takenDown{
		Envelope: view.EnvelopeOf("down"), Cluster: down.R.Config.Cluster, NodeSet: d.nodeSet, Actions: did.pass.Actions,
		Left: left.Left, Reasons: append(append([]string{}, left.Kept...), failuresOf(did.pass.Actions, left)...), Undo: append([]string{}, left.Undo...),
	}
	for _, command := range left.UndoEarlier {
		d.say("to undo, if an earlier down has closed it: %s", command)
	}
	if err := write(d.out, d.json, done); err != nil || left.Done() {
		return err
	}
	return errors.New("not all is down; once what is named is fixed, run it again")
}

// failuresOf are the steps that failed to the end, and why.
func failuresOf(actions []view.Action, left takedown.Plan) (failed []string) {
	undone := map[string]bool{}
	for _, a := range left.Due() {
		undone[a.String()] = true
	}
	for _, a := range actions {
		if a.Error != "" && undone[a.What] {
			failed = append(failed, fmt.Sprintf("%s: %s", a.What, a.Error))
		}
	}
	return failed
}
