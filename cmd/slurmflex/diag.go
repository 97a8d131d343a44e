package main

import (
	"context"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"slurmflex/config"
	"slurmflex/flex/diag"
	"slurmflex/flex/usage"
)

func newDiag(a *app) *cobra.Command {
	output, trial, job, span := "", "", "", time.Hour
	cmd := &cobra.Command{
		Use: "diag", Short: "Write an archive with everything that a bug report needs", GroupID: "ask", Args: noArguments,
		Long: `Write one archive (tar.gz) for a bug report: the configuration, config check --live,
status and plan as JSON, a job's story, metrics, versions, the last hour of the journal
and of the log file, the state of the daemon's unit, what Slurm shows, and a trial's
transcript. Changes nothing and uploads nothing; config check and plan read Slurm and
Compute. Run it on the controller as root, because SlurmUser may not read the journal.

It lists what the archive contains and what is missing, also in INDEX.txt in the archive.
Passwords, keys and tokens are removed if their names or formats show them. Names of
users, projects, jobs and nodes remain: read the archive before you share it. Each part
is limited to 16 MiB and one minute. Only its owner may read the archive.

Exit status: 0 also if parts are missing, 1 if the archive cannot be written.`,
		Example: `  slurmflex diag
  slurmflex diag --since 6h --job 812 -o /tmp/diag.tar.gz`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if span <= 0 {
				return usage.Errorf("--since must be more than 0, not %s", span)
			}
			return a.diag(cmd, diag.Host{Trial: trial, Job: job, Since: time.Now().Add(-span)}, output)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "write this new `file` (default slurmflex-diag-CLUSTER-TIME.tar.gz in the current folder)")
	cmd.Flags().StringVar(&job, "job", "", "include the story of this `job`")
	cmd.Flags().StringVar(&trial, "trial", "", "include this `file` that slurmflex trial --record wrote")
	cmd.Flags().DurationVar(&span, "since", span, "how much of the logs is included, such as 6h")
	return cmd
}

func (a *app) diag(cmd *cobra.Command, host diag.Host, output string) error {
	daemon := config.GlanceAt(a.configPath)
	host.Config = a.configPath
	host.Metrics = func(ctx context.Context) ([]byte, error) { return a.daemon().Metrics(ctx, daemon) }
	if cfg, err := a.config(); err == nil { // otherwise config-check.txt contains the error
		host.BinDir, host.LogFile = a.scheduler(cfg).Folder("scontrol"), cfg.Options.LogFile
	}
	var err error
	if host.Slurmflex, err = os.Executable(); err != nil {
		return err
	}
	over := a.progress.Begin("collecting")
	says, err := diag.Archive(cmd.Context(), host, daemon.Cluster, output, time.Now())
	over()
	if err != nil {
		return err
	}
	_, err = io.WriteString(cmd.OutOrStdout(), says)
	return err
}
