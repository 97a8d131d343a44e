package main

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"slurmflex/config"
	"slurmflex/flex"
	"slurmflex/flex/terminal"
	"slurmflex/flex/trial"
	"slurmflex/flex/usage"
)

// trialOptions holds the flags of the trial command.
type trialOptions struct {
	trial.Options
	yes, dryRun bool
	record      string
}

func newTrial(a *app) *cobra.Command {
	o := trialOptions{}
	cmd := &cobra.Command{
		Use: "trial --nodeset NODESET", Short: "Try on your own project whether Compute does what slurmflex relies on", GroupID: "ask",
		Long: `Create an instance group, a workload policy and four resize requests of one machine,
read each answer, delete everything, and check whether Compute did what slurmflex
relies on. Each check is reported as passed, failed or skipped. Nothing uses the policy. Two of the requests must create no machine;
the machines of the other two are deleted as soon as they run. It takes minutes, and asks
before it creates anything.

All names start with CLUSTER-trial- and random letters. The resources have the ownership
stamp of a cluster of that name, so the daemon leaves them alone, and the trial changes
only resources with these names. If interrupted, it deletes what it has created. A killed
trial leaves resources: status and the next trial name them, and gc and down delete them
once the trial has created nothing for an hour. If a machine is not created within --wait,
the checks that need it are skipped.

The template's startup script runs on the machines, which do not join Slurm. If you can,
use a small --template without a startup script, in the nodeset's region.

Exit status: 0 if no check failed and nothing is left behind; 1 if a check failed,
something is left behind, or it was interrupted; 2 if it created nothing, because of wrong
usage, missing credentials or a template that it could not read.`,
		Example: `  slurmflex trial --nodeset a3 --dry-run
  slurmflex trial --nodeset a3 --template projects/my-project/regions/us-central1/instanceTemplates/small
  slurmflex trial --nodeset a3 --yes --record trial.jsonl`,
		Args: noArguments,
		RunE: a.configured(func(cmd *cobra.Command, _ []string, cfg *config.Config) error { return a.trial(cmd, cfg, o) }),
	}
	cmd.Flags().StringVar(&o.NodeSet, "nodeset", "", "use the project, region, zones and template of this `nodeset`")
	cmd.Flags().StringVar(&o.Template, "template", "", "another instance `template`, by its path")
	cmd.Flags().DurationVar(&o.Wait, "wait", 5*time.Minute, "how long to wait for each of the two machines, at most 45m")
	cmd.Flags().BoolVar(&o.yes, "yes", false, "do not ask")
	cmd.Flags().BoolVar(&o.dryRun, "dry-run", false, "only print the calls that would change something")
	cmd.Flags().StringVar(&o.record, "record", "", "write the calls and answers to a new `file`, without project names, addresses and other secrets")
	exclude(cmd, "dry-run", "record")
	completeFlags(cmd, map[string]cobra.CompletionFunc{"nodeset": a.complete(nodeSets), "template": cobra.NoFileCompletions, "wait": cobra.NoFileCompletions})
	return cmd
}

func (a *app) trial(cmd *cobra.Command, cfg *config.Config, o trialOptions) error {
	ctx, out := cmd.Context(), cmd.OutOrStdout()
	set, err := o.Check(cfg)
	if err != nil {
		return usage.Wrap(err)
	}
	again := &trial.Again{Next: a.transport}
	if a.transport == nil {
		again.Next = http.DefaultTransport
	}
	a.transport = again
	client, err := a.cloud(ctx, cfg, zap.NewNop())
	if err != nil {
		return trial.NotStarted(ctx, err)
	}
	defer client.Close()
	for _, says := range flex.OtherTrials(ctx, cfg, client) {
		fmt.Fprintf(&a.progress, "trial: %s\n", says)
	}
	spec, err := o.Spec(ctx, cfg, set, client)
	if err != nil {
		return trial.NotStarted(ctx, err)
	}
	fmt.Fprint(out, spec)
	if o.dryRun {
		for _, c := range spec.Calls() {
			fmt.Fprintln(out, c)
		}
		return nil
	}
	if !o.yes {
		if err := terminal.Confirm(ctx, out, cmd.InOrStdin()); err != nil {
			return err
		}
	}
	t := trial.Trial{Spec: spec, Cloud: client, Again: again, Now: time.Now, Say: func(what string) { fmt.Fprintln(cmd.ErrOrStderr(), what) }}
	err = t.Report(ctx, out, o.record, thisBuild().String())
	if errors.Is(err, trial.ErrFailed) {
		return loggedError{err} // the report says so
	}
	return err
}
