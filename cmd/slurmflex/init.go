package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"slurmflex/config"
	"slurmflex/flex/setup"
)

func newInit(a *app) *cobra.Command {
	o := setup.Init{}
	cmd := &cobra.Command{
		Use: "init", Short: "Ask five questions and write a first configuration", GroupID: "ask", Args: noArguments,
		Long: `Ask for project, region, partition, machine type and the longest job, and write the
configuration file (--config) and flex.conf, the matching part of slurm.conf. A flag
answers a question in advance. Writes both files or none, and replaces no file. Changes
neither Slurm nor Compute, but queries them for what no flag sets: the cluster's name,
Slurm's version, and machine types that slurmflex does not know.

The files are a start: nodes, zones, template and subnetwork have usual names and
numbers. Read them, then run config check --live.`,
		Example: `  slurmflex init
  slurmflex --config alpha.yaml init --flex-conf flex.conf --cluster alpha --slurm-version 24.11
  slurmflex init --project my-project --region us-central1 --machine-type a3-megagpu-8g --time 2-00:00:00`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.Path = a.configPath
			next, err := o.Write(cmd.Context(), a.scheduler(&config.Config{}), a.machines, cmd.InOrStdin(), cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			_, err = io.WriteString(cmd.OutOrStdout(), next)
			return err
		},
	}
	for _, q := range o.Questions() {
		cmd.Flags().StringVar(q.Answer, q.Flag, "", fmt.Sprintf("answer to %q (%s)", q.Text, q.Example))
	}
	cmd.Flags().StringVar(&o.Cluster, "cluster", "", "`name` of the cluster (default: ClusterName of Slurm)")
	cmd.Flags().IntVar(&o.Nodes, "nodes", 8, "largest `number` of nodes")
	cmd.Flags().StringSliceVar(&o.Zones, "zones", nil, "`zones` that have the machine type (default: zones b and c of the region)")
	cmd.Flags().StringVar(&o.FlexConf, "flex-conf", "/etc/slurm/flex.conf", "write the part of slurm.conf to this new `file`")
	cmd.Flags().StringVar(&o.Version, "slurm-version", "", "`version` of Slurm, such as 22.05 (default: that of scontrol -V)")
	return cmd
}
