package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"slurmflex/config"
	"slurmflex/flex/plan"
	"slurmflex/flex/plan/scene"
	"slurmflex/flex/trial"
	"slurmflex/flex/trial/transcript"
	"slurmflex/flex/view"
	"slurmflex/mig/gce"
)

// trialOptions is how the command trial was called.
type trialOptions struct {
	nodeset  string
	template string
	wait     time.Duration
	yes      bool
	dryRun   bool
	record   string
}

func newTrial(a *app) *cobra.Command {
	o := trialOptions{}
	cmd := &cobra.Command{
		Use: "trial --nodeset NODESET", Short: "Try on your own project whether Compute does what slurmflex relies on", GroupID: "ask",
		Long: `Create an instance group, a workload policy and four resize requests of one machine,
read each answer, delete everything, and report for each fact whether Compute did what
slurmflex relies on. Nothing uses the policy. Two of the requests must create no machine;
the machines of the other two are deleted as soon as they run. It takes minutes, and asks
before it creates anything.

All names begin with CLUSTER-trial- and random letters. They carry the ownership stamp
of a cluster of that name, so the daemon leaves them alone, and the trial touches only
what has these names. If interrupted, it deletes what it has created. A killed trial leaves resources:
status and the next trial name them, and gc and down delete them, once the trial has
created nothing for an hour. If a machine is not created within --wait, the checks that
need it are skipped.

The template's startup script runs on the machines, which do not join Slurm. If you can,
use a small --template without a startup script, in the nodeset's region.

Exit status: 0 if no fact differed and nothing is left behind; 1 if a fact differed,
something is left behind, or it was interrupted; 2 if it created nothing, because of wrong
usage, missing credentials or a template that it could not read.`,
		Example: `  slurmflex trial --nodeset a3 --dry-run
  slurmflex trial --nodeset a3 --template projects/my-project/regions/us-central1/instanceTemplates/small
  slurmflex trial --nodeset a3 --yes --record trial.jsonl`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.trial(cmd, o) },
	}
	cmd.Flags().StringVar(&o.nodeset, "nodeset", "", "the `nodeset` whose project, region, zones and template are used")
	cmd.Flags().StringVar(&o.template, "template", "", "another instance `template`, by its path")
	cmd.Flags().DurationVar(&o.wait, "wait", 5*time.Minute, "how long to wait for each of the two machines, at most 45m")
	cmd.Flags().BoolVar(&o.yes, "yes", false, "do not ask")
	cmd.Flags().BoolVar(&o.dryRun, "dry-run", false, "only print the calls that would change something")
	cmd.Flags().StringVar(&o.record, "record", "", "write the calls and answers to a new `file`, without project names, addresses and other secrets")
	cmd.MarkFlagsMutuallyExclusive("dry-run", "record")
	completeFlags(cmd, map[string]cobra.CompletionFunc{"nodeset": a.complete(nodeSets), "template": cobra.NoFileCompletions, "wait": cobra.NoFileCompletions})
	return cmd
}

func (a *app) trial(cmd *cobra.Command, o trialOptions) error {
	cfg, err := a.config()
	if err != nil {
		return err
	}
	spec, err := a.trialSpec(cmd.Context(), cfg, o)
	if err != nil {
		return notStarted(cmd.Context(), err)
	}
	out := cmd.OutOrStdout()
	fmt.Fprintf(out, "Nodeset %s: project %s, region %s, zones %s. All names begin with %s.\n"+
		"At most %d machine seconds of %s: 4 requests of 1 machine, 2 of which should bring none.\n",
		spec.NodeSet, spec.Project, spec.Region, strings.Join(spec.Zones, ", "), spec.Name(), int(spec.Most().Seconds()), spec.Template.MachineType)
	if o.dryRun {
		for _, c := range spec.Calls() {
			fmt.Fprintln(out, c)
		}
		return nil
	}
	if !o.yes {
		if err := confirm(cmd.Context(), out, cmd.InOrStdin()); err != nil {
			return err
		}
	}
	return a.runTrial(cmd, cfg, spec, o.record)
}

// notStarted is an error before anything is created. It counts as wrong usage unless somebody
// has interrupted the trial.
func notStarted(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("trial interrupted: %w", context.Cause(ctx))
	}
	return usageError{err}
}

// trialSpec is what the trial is about. It reads the template.
func (a *app) trialSpec(ctx context.Context, cfg *config.Config, o trialOptions) (spec trial.Spec, err error) {
	if o.wait <= 0 || o.wait > longestTrialWait {
		return spec, usageError{fmt.Errorf("--wait %s: must be more than 0 and at most %s, such as 5m", o.wait, view.Span(longestTrialWait))}
	}
	var set *config.NodeSet
	for _, s := range cfg.FlexSets() {
		if s.Name == o.nodeset {
			set = s
		}
	}
	switch {
	case set == nil:
		return spec, unknownNodeSet(o.nodeset, names(cfg))
	case set.Flex.UseBulkInsert:
		return spec, usageError{fmt.Errorf("nodeset %s uses bulk insertion, which makes no groups; choose another nodeset", set.Name)}
	}
	if o.template == "" {
		o.template = set.Template
	}
	client, err := a.cloud(ctx, cfg, zap.NewNop())
	if err != nil {
		return spec, err
	}
	defer client.Close()
	a.nameTrials(ctx, cfg, client)
	template, err := client.Template(ctx, o.template)
	if err != nil {
		return spec, err
	}
	if strings.Contains(template.Link, "/regions/") && !strings.Contains(template.Link, "/regions/"+set.Region+"/") {
		return spec, usageError{fmt.Errorf("template %s: give a global one, or one of the nodeset's region %s", template.Link, set.Region)}
	}
	if wrong := template.Contradictions(); len(wrong) > 0 {
		return spec, usageError{fmt.Errorf("template %s: %s", template.Link, strings.Join(wrong, "; "))}
	}
	return trial.Spec{
		Project: cfg.Project, Cluster: cfg.Cluster, NodeSet: set.Name, Region: set.Region, Zones: set.Zones,
		Template: template, Random: randomLetters(5), Wait: o.wait,
	}, nil
}

// longestTrialWait is the longest --wait. It is shorter than the hour after which a trial counts
// as killed.
const longestTrialWait = 45 * time.Minute

// nameTrials lists on stderr what other trials have made.
func (a *app) nameTrials(ctx context.Context, cfg *config.Config, client *gce.Client) {
	snap := scene.Snapshot{Now: time.Now(), Unseen: map[string]error{}}
	regions := cfg.FlexRegions()
	groups, unseen := client.Groups(ctx, cfg.Cluster, regions)
	_, snap.Trials = plan.WithoutTrials(cfg.Cluster, groups)
	snap.Policies, snap.UnseenPolicies = client.Policies(ctx, cfg.Cluster, regions)
	for _, region := range regions {
		if err := cmp.Or(unseen[region], snap.UnseenPolicies[region]); err != nil {
			fmt.Fprintf(&a.progress, "trial: whether an earlier trial has left anything in %s is not known: %v\n", region, err)
		}
	}
	for _, t := range plan.Trials(scene.Of(cfg, snap)) {
		fmt.Fprintf(&a.progress, "trial: %s\n", t.Told())
	}
}

// randomLetters are n letters that make no word.
func randomLetters(n int) string {
	const letters = "bcdfghjkmnpqrstvwxz"
	b := make([]byte, n)
	for i := range b {
		b[i] = letters[rand.N(len(letters))]
	}
	return string(b)
}

// confirm asks whether to go on; anything but yes is an error.
func confirm(ctx context.Context, out io.Writer, in io.Reader) error {
	fmt.Fprint(out, "Proceed? [y/N] ")
	answer := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(in).ReadString('\n') // without a line it is no yes
		answer <- strings.ToLower(strings.TrimSpace(line))
	}()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case line := <-answer:
		if line != "y" && line != "yes" {
			return usageError{errors.New("not confirmed; nothing was created (--yes skips the question)")}
		}
		return nil
	}
}

// runTrial makes the trial and prints its report. What differs, or is left, is in the
// report already.
func (a *app) runTrial(cmd *cobra.Command, cfg *config.Config, spec trial.Spec, record string) error {
	again := &trial.Again{Next: a.transport}
	if a.transport == nil {
		again.Next = http.DefaultTransport
	}
	var recorder *transcript.Recorder
	if record != "" {
		file, err := os.OpenFile(record, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return usageError{fmt.Errorf("--record: %w", err)}
		}
		defer file.Close()
		recorder, err = transcript.NewRecorder(file, transcript.Header{
			Slurmflex: thisBuild().String(), Begun: time.Now().UTC(), Region: spec.Region, Machine: spec.Template.MachineType,
		}, spec.Project, again.Next)
		if err != nil {
			return notStarted(cmd.Context(), err)
		}
		again.Next = recorder
	}
	a.transport = again
	client, err := a.cloud(cmd.Context(), cfg, zap.NewNop())
	if err != nil {
		return notStarted(cmd.Context(), err)
	}
	defer client.Close()
	t := trial.Trial{Spec: spec, Cloud: client, Again: again, Now: time.Now, Say: func(what string) { fmt.Fprintln(cmd.ErrOrStderr(), what) }}
	report := t.Run(cmd.Context())
	_, unprinted := fmt.Fprint(cmd.OutOrStdout(), report)
	switch {
	case recorder != nil && recorder.Err() != nil:
		return recorder.Err()
	case !report.Good():
		return loggedError{errors.New("the trial has found differences, or left something behind")}
	case cmd.Context().Err() != nil:
		return fmt.Errorf("trial interrupted: %w", context.Cause(cmd.Context()))
	case unprinted != nil:
		return fmt.Errorf("print the report: %w", unprinted)
	}
	return nil
}
