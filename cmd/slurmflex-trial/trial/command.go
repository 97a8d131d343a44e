package trial

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"slurmflex/config"
	"slurmflex/flex/terminal"
	"slurmflex/flex/view"
	"slurmflex/mig/gce"
)

// settings are the command's flags.
type settings struct {
	config, nodeSet, template, record string
	wait                              time.Duration
	yes, dryRun                       bool
}

// New returns the command, which calls Compute through a transport; nil for TCP.
func New(transport http.RoundTripper) *cobra.Command {
	var s settings
	c := &cobra.Command{
		Use: "slurmflex-trial --nodeset NODESET", Short: "Try on your own project whether Compute does what slurmflex relies on",
		Long: `Create an instance group, a workload policy and four resize requests of one machine,
read each answer, delete everything, and check whether Compute did what slurmflex
relies on. Each check is reported as passed, failed or skipped. Nothing uses the
policy. Two of the requests must create no machine; the machines of the other two are
deleted as soon as they run. The trial takes minutes, and asks before it creates
anything.

All names start with CLUSTER-trial-- and random letters, and the trial changes only
resources with these names. Daemons leave them alone. If interrupted, the trial deletes
what it has created. A killed trial leaves resources, but no machine for more than ten
minutes: the next trial, also with --dry-run, names them and the commands that delete
them. If a machine is not created within --wait, the checks that need it are skipped.

The template's startup script runs on the machines, which do not join Slurm. If you can,
use a small --template without a startup script, in the nodeset's region.

Exit status: 0 if no check failed and nothing is left behind; 1 if a check failed,
something is left behind, or the trial was interrupted; 2 if the trial created nothing,
because of wrong usage, missing credentials or a template that it could not read.`,
		Example: `  slurmflex-trial --nodeset a3 --dry-run
  slurmflex-trial --nodeset a3 --template projects/my-project/regions/us-central1/instanceTemplates/small
  slurmflex-trial --nodeset a3 --yes --record trial.jsonl`,
		Version:      view.Version,
		SilenceUsage: true, SilenceErrors: true,
		Args: func(c *cobra.Command, args []string) error { return config.Misuse(cobra.NoArgs(c, args)) },
		RunE: func(c *cobra.Command, _ []string) error { return s.run(c, transport) },
	}
	c.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return config.Misusef("%w; see --help", err) })
	f := c.Flags()
	f.StringVar(&s.config, "config", "/etc/slurmflex/config.yaml", "the configuration `file` of slurmflex")
	f.StringVar(&s.nodeSet, "nodeset", "", "use the project, region, zones and template of this `nodeset`")
	f.StringVar(&s.template, "template", "", "another instance `template`, by its path")
	f.DurationVar(&s.wait, "wait", 5*time.Minute, "how long to wait for each of the two machines, at most 45m")
	f.BoolVar(&s.yes, "yes", false, "do not ask")
	f.BoolVar(&s.dryRun, "dry-run", false, "only print the steps")
	f.StringVar(&s.record, "record", "", "write the calls and answers, without secrets, to a new `file`")
	return c
}

// longestWait is the longest time to wait for a machine.
const longestWait = 45 * time.Minute

// run makes a trial.
func (s settings) run(c *cobra.Command, transport http.RoundTripper) error {
	cfg, err := config.Load(s.config)
	if err != nil {
		return config.Misuse(err)
	}
	set, err := s.check(cfg)
	if err != nil {
		return config.Misuse(err)
	}
	if transport == nil {
		transport = http.DefaultTransport
	}
	again := &again{next: transport}
	client, err := connect(c.Context(), cfg, again)
	if err != nil {
		return notStarted(c.Context(), err)
	}
	defer client.Close()
	t := trial{cloud: client, again: again, say: func(what string) { fmt.Fprintln(c.ErrOrStderr(), what) }}
	others, unsure := remnants(c.Context(), cfg, client)
	for _, other := range others {
		t.say(other)
	}
	if unsure != nil {
		t.say(unsure.Error())
	}
	if t.spec, err = s.spec(c.Context(), cfg, set, client); err != nil {
		return notStarted(c.Context(), err)
	}
	fmt.Fprint(c.OutOrStdout(), t.spec)
	if s.dryRun {
		for _, step := range t.steps() {
			if step.does != "" {
				fmt.Fprintln(c.OutOrStdout(), step.does)
			}
		}
		return nil
	}
	if !s.yes {
		if err := confirm(c); err != nil {
			return err
		}
	}
	return t.reported(c.Context(), c.OutOrStdout(), s.record)
}

// confirm asks whether to continue. Any answer but yes is an error.
func confirm(c *cobra.Command) error {
	fmt.Fprint(c.OutOrStdout(), "Proceed? [y/N] ")
	line, err := terminal.Answer(c.Context(), c.InOrStdin())
	if answer := strings.ToLower(line); err == nil && answer != "y" && answer != "yes" {
		err = config.Misusef("not confirmed; nothing was created (--yes skips the question)")
	}
	return err
}

// check returns the nodeset of the trial, or an error for invalid flags.
func (s settings) check(cfg *config.Config) (*config.NodeSet, error) {
	switch {
	case s.wait <= 0 || s.wait > longestWait:
		return nil, fmt.Errorf("--wait %s: must be more than 0 and at most %.0fm, such as 5m", s.wait, longestWait.Minutes())
	case s.dryRun && s.record != "":
		return nil, errors.New("--dry-run and --record are mutually exclusive")
	}
	set, err := cfg.NeedFlexSet(s.nodeSet)
	if err != nil {
		return nil, fmt.Errorf("--nodeset: %w", err)
	}
	if set.Flex.UseBulkInsert {
		return nil, fmt.Errorf("nodeset %s uses bulk insertion, which makes no groups; choose another nodeset", set.Name)
	}
	return set, nil
}

// connect returns a client of Compute that calls it through a transport.
func connect(ctx context.Context, cfg *config.Config, transport http.RoundTripper) (*gce.Client, error) {
	if cfg.CredentialsFile == "" { // otherwise it was already checked
		if err := config.CheckSecret(os.Getenv("GOOGLE_APPLICATION_CREDENTIALS")); err != nil {
			return nil, fmt.Errorf("GOOGLE_APPLICATION_CREDENTIALS: %w", err)
		}
	}
	var regions []gce.Region
	for _, r := range cfg.Options.Regions {
		regions = append(regions, gce.Region(r))
	}
	return gce.New(ctx, gce.Options{
		Project: cfg.Project, Version: view.Version, Endpoint: cfg.Options.ComputeEndpoint, CredentialsFile: cfg.CredentialsFile,
		Regions: regions, Transport: transport, Rate: float64(cfg.Options.APICalls),
	})
}

// spec returns the spec of a trial of the nodeset. It reads the template.
func (s settings) spec(ctx context.Context, cfg *config.Config, set *config.NodeSet, cloud *gce.Client) (spec, error) {
	template, err := cloud.Template(ctx, cmp.Or(s.template, set.Template))
	if err != nil {
		return spec{}, err
	}
	if strings.Contains(template.Link, "/regions/") && !strings.Contains(template.Link, "/regions/"+set.Region+"/") {
		return spec{}, fmt.Errorf("template %s: must be global or in the nodeset's region %s", template.Link, set.Region)
	}
	if wrong := template.Contradictions(); len(wrong) > 0 {
		return spec{}, fmt.Errorf("template %s: %s", template.Link, strings.Join(wrong, "; "))
	}
	return spec{
		project: cfg.Project, cluster: cfg.Cluster, nodeSet: set.Name, region: set.Region, zones: set.Zones,
		template: template, elsewhere: cfg.Options.HasEndpoint(set.Region), random: randomLetters(5), wait: s.wait,
	}, nil
}

// notStarted returns the error of a trial that failed before it created anything. It counts as wrong
// usage unless the trial was interrupted.
func notStarted(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return interrupted(ctx)
	}
	return config.Misuse(err)
}

func interrupted(ctx context.Context) error {
	return fmt.Errorf("trial interrupted: %w", context.Cause(ctx))
}

// reported runs the trial and writes its report. It records the calls in a new file of that name,
// unless the name is empty.
func (t *trial) reported(ctx context.Context, out io.Writer, file string) error {
	incomplete := func() error { return nil }
	if file != "" {
		f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return config.Misusef("--record: %w", err)
		}
		defer f.Close()
		head := header{Slurmflex: view.Version, Begun: time.Now().UTC(), Region: t.spec.region, Machine: t.spec.template.MachineType}
		recorder, err := newRecorder(f, head, t.spec.project, t.again.next)
		if err != nil {
			return notStarted(ctx, err)
		}
		t.again.next, incomplete = recorder, recorder.failed
	}
	report := t.run(ctx)
	_, unprinted := fmt.Fprint(out, report)
	if err := incomplete(); err != nil {
		return err
	}
	switch {
	case !report.good():
		return errors.New("a check failed, or the trial left something behind")
	case ctx.Err() != nil:
		return interrupted(ctx)
	case unprinted != nil:
		return fmt.Errorf("print the report: %w", unprinted)
	}
	return nil
}
