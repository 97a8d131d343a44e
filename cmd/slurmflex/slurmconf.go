package main

import (
	"context"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"slurmflex/config"
	"slurmflex/flex/setup"
)

func newSlurmConf(a *app) *cobra.Command {
	o := setup.SlurmConf{}
	output := ""
	cmd := &cobra.Command{
		Use: "slurm-conf", Short: "Print the part of slurm.conf that the configuration needs",
		Long: `Print the part of slurm.conf that the configuration needs: programs, times, nodes
and partitions. Node parameters come from node_conf and, where it does not set them,
from the template's machine type as Compute describes it, or from a built-in table
if Compute cannot be queried. A parameter that is "" in node_conf is left out.

With --output, the file is replaced only once the text is complete; after an error
it is unchanged.`,
		Example: `  slurmflex config slurm-conf
  slurmflex config slurm-conf --output /etc/slurm/flex.conf
  slurmflex config slurm-conf --slurm-version 24.11 --machine a3=a3-megagpu-8g`,
		Args: noArguments,
		RunE: a.configured(func(cmd *cobra.Command, _ []string, cfg *config.Config) error {
			return setup.Output(cmd.OutOrStdout(), output, func() (string, error) {
				return o.Write(cmd.Context(), cfg, a.scheduler(cfg), a.machines)
			})
		}),
	}
	outputFlag(cmd, &output)
	cmd.Flags().StringVar(&o.Version, "slurm-version", "", "`version` of Slurm, such as 22.05; default: that of scontrol -V")
	cmd.Flags().StringVar(&o.Programs, "programs", "", "`folder` of resume, suspend and resume-fail (default: slurmflex's)")
	machineFlag(cmd, &o.Machines)
	return cmd
}

func outputFlag(cmd *cobra.Command, file *string) {
	cmd.Flags().StringVarP(file, "output", "o", "", "write to this `file` instead of stdout")
}

func machineFlag(cmd *cobra.Command, machines *map[string]string) {
	cmd.Flags().StringToStringVar(machines, "machine", nil, "machine type `NODESET=TYPE`, instead of asking Compute")
	cmd.Flags().Lookup("machine").DefValue = "" // otherwise the help shows [] as the default
}

// machines returns the machine types of our nodesets.
func (a *app) machines(ctx context.Context, cfg *config.Config, given map[string]string) map[string]setup.Machine {
	cloud, noCloud := a.cloud(ctx, cfg, zap.NewNop())
	if noCloud == nil {
		defer cloud.Close()
	}
	return setup.Machines(ctx, cfg, cloud, noCloud, given)
}
