package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"slurmflex/config"
	"slurmflex/flex/diag"
)

func newDiag(a *app) *cobra.Command {
	output, trial, span := "", "", time.Hour
	cmd := &cobra.Command{
		Use: "diag", Short: "Write an archive with everything that a bug report needs", GroupID: "ask", Args: noArguments,
		Long: `Write one archive (tar.gz) for a bug report: the configuration, config check --live,
status and plan as JSON, metrics, versions, the last hour of the journal and of the log
file, Slurm's configuration, nodes and reservations, and a trial's transcript. Changes
nothing and sends nothing anywhere. Run it on the controller as SlurmUser, or as root.

It lists what the archive contains and what is missing, also in INDEX.txt in the archive.
Passwords, keys and tokens are removed if their names or formats show them. Names of
users, projects, jobs and nodes remain: read the archive before you share it. Each part
is limited to 16 MiB and one minute. Only its owner may read the archive.

Exit status: 0 also if parts are missing, 1 if the archive cannot be written.`,
		Example: `  slurmflex diag
  slurmflex diag --since 6h --trial trial.jsonl -o /tmp/diag.tar.gz`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if span <= 0 {
				return usageError{fmt.Errorf("--since must be more than 0, not %s", span)}
			}
			return a.diag(cmd, output, trial, span)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "write this new `file` (default slurmflex-diag-CLUSTER-TIME.tar.gz in the current folder)")
	cmd.Flags().StringVar(&trial, "trial", "", "include this `file` that slurmflex trial --record wrote")
	cmd.Flags().DurationVar(&span, "since", span, "how much of the logs is included")
	return cmd
}

func (a *app) diag(cmd *cobra.Command, output, trial string, span time.Duration) error {
	now := time.Now()
	daemon := config.GlanceAt(a.configPath)
	host := diag.Host{
		Config: a.configPath, Trial: trial, Since: now.Add(-span),
		Metrics: func(ctx context.Context) ([]byte, error) { return a.daemon().Metrics(ctx, daemon) },
	}
	if cfg, err := a.config(); err == nil { // otherwise config-check.txt contains the error
		host.BinDir, host.LogFile = a.scheduler(cfg).Folder("scontrol"), cfg.Options.LogFile
	}
	var err error
	if host.Slurmflex, err = os.Executable(); err != nil {
		return err
	}
	over := a.progress.Begin("collecting")
	says, err := diag.Archive(cmd.Context(), host, daemon.Cluster, output, now)
	over()
	if err != nil {
		return err
	}
	_, err = io.WriteString(cmd.OutOrStdout(), says)
	return err
}
