package main

import (
	"io"

	"github.com/spf13/cobra"

	"slurmflex/flex/setup"
)

func newFromSlurmGCP(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "from-slurm-gcp FILE", Short: "List what to change to move the slurm-gcp cluster with this config.yaml to slurmflex",
		Long: `Print which nodesets slurmflex takes over from slurm-gcp's scripts, and what to
append to config.yaml. It changes nothing. For the steps in order, see
/usr/share/doc/slurmflex/docs/migrate.md. For the lines of slurm.conf to edit, for
advice and for the keys that slurmflex ignores, run config check --live on the file.`,
		Example: "  slurmflex config from-slurm-gcp /slurm/scripts/config.yaml",
		Args:    oneArgument("/slurm/scripts/config.yaml"),
		RunE: func(cmd *cobra.Command, args []string) error {
			a.configPath = args[0]
			cfg, err := a.config()
			if err != nil {
				return err
			}
			conf, _ := a.scheduler(cfg).Config(cmd.Context()) // without it, the report has slurm-gcp's usual programs
			_, err = io.WriteString(cmd.OutOrStdout(), setup.FromSlurmGCP(cfg, conf))
			return err
		},
	}
}
