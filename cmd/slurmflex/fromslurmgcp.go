package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"slurmflex/flex/slurmconf"
	"slurmflex/flex/slurmgcp"
)

func newFromSlurmGCP(a *app) *cobra.Command {
	o := slurmConfOptions{}
	conf := ""
	cmd := &cobra.Command{
		Use: "from-slurm-gcp FILE", Short: "Say what to change in a cluster of slurm-gcp's scripts, whose config.yaml is FILE",
		Long: `Says what changes when slurmflex takes over the flex-start nodes of a cluster
that slurm-gcp's scripts run, what of its config.yaml is ignored, which lines of
cloud.conf to edit, and in which order to do it. Nothing is written.`,
		Example: `  slurmflex config from-slurm-gcp /slurm/scripts/config.yaml
  slurmflex config from-slurm-gcp --slurm-conf /usr/local/etc/slurm/slurm.conf /slurm/scripts/config.yaml`,
		Args: exactly(1, "it takes slurm-gcp's configuration, such as /slurm/scripts/config.yaml"),
		RunE: func(cmd *cobra.Command, args []string) error {
			a.configPath = args[0]
			text, err := a.fromSlurmGCP(cmd.Context(), conf, o)
			if err != nil {
				return err
			}
			_, err = fmt.Fprint(cmd.OutOrStdout(), text)
			return err
		},
	}
	cmd.Flags().StringVar(&conf, "slurm-conf", "", "the slurm.conf that includes cloud.conf, or cloud.conf itself: its lines are named then; the `file`")
	cmd.Flags().StringVar(&o.version, "slurm-version", "", "Slurm's `version`, such as 24.11; default: what scontrol -V says")
	cmd.Flags().StringVar(&o.programs, "programs", slurmconf.Folder, "the `folder` of slurmflex's resume, suspend and resume-fail")
	return cmd
}

func (a *app) fromSlurmGCP(ctx context.Context, conf string, o slurmConfOptions) (string, error) {
	cfg, err := a.config()
	if err != nil {
		return "", err
	}
	c := slurmgcp.Cluster{Config: cfg, Programs: o.programs}
	if c.Version, err = a.slurmVersion(ctx, cfg, o.version); err != nil {
		return "", err
	}
	if err := o.checkPrograms(); err != nil {
		return "", err
	}
	if conf != "" {
		if c.SlurmConf, err = slurmconf.Read(conf); err != nil {
			return "", usageError{err}
		}
	}
	return slurmgcp.Report(c), nil
}
