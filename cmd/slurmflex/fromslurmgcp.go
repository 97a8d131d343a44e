package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"slurmflex/flex/slurmconf"
	"slurmflex/flex/slurmgcp"
)

func newFromSlurmGCP(a *app) *cobra.Command {
	o := slurmconf.Options{}
	conf, verbose := "", false
	cmd := &cobra.Command{
		Use: "from-slurm-gcp FILE", Short: "List what to change to move the slurm-gcp cluster with this config.yaml to slurmflex",
		Long: `Print what changes when slurmflex takes over the flex-start nodes of a cluster
that slurm-gcp's scripts run: what to append to config.yaml and the lines of
cloud.conf to edit; with --verbose also advice, and the keys that slurmflex
ignores. It changes nothing. For the steps in order, see
/usr/share/doc/slurmflex/docs/migrate.md.`,
		Example: `  slurmflex config from-slurm-gcp /slurm/scripts/config.yaml
  slurmflex config from-slurm-gcp --slurm-conf /usr/local/etc/slurm/slurm.conf /slurm/scripts/config.yaml`,
		Args: exactly(1, "/slurm/scripts/config.yaml"),
		RunE: func(cmd *cobra.Command, args []string) error {
			a.configPath = args[0]
			cfg, err := a.config()
			if err != nil {
				return err
			}
			cluster, err := slurmgcp.Read(cmd.Context(), cfg, a.scheduler(cfg), o, conf)
			if err != nil {
				return err
			}
			_, err = fmt.Fprint(cmd.OutOrStdout(), slurmgcp.Report(cluster, verbose))
			return err
		},
	}
	cmd.Flags().StringVar(&conf, "slurm-conf", "", "slurm.conf or cloud.conf, to name the lines to edit in this `file`")
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "also print what changes, advice, and what is ignored")
	cmd.Flags().StringVar(&o.Version, "slurm-version", "", "`version` of Slurm, such as 24.11; default: that of scontrol -V")
	cmd.Flags().StringVar(&o.Programs, "programs", slurmconf.Folder, "`folder` of resume, suspend and resume-fail")
	return cmd
}
