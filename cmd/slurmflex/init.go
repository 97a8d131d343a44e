package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"slurmflex/config"
	"slurmflex/flex/setup"
	"slurmflex/flex/slurmconf"
	"slurmflex/flex/usage"
)

// initOptions holds the flags of the init command.
type initOptions struct {
	setup.Answers
	slurmconf.Options
	flexConf string
}

func newInit(a *app) *cobra.Command {
	o := initOptions{}
	questions := o.Questions()
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
  slurmflex init --project my-project --region us-central1 --partition train --machine-type a3-megagpu-8g --time 2-00:00:00`,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.init(cmd, &o, questions) },
	}
	for _, q := range questions {
		cmd.Flags().StringVar(q.Answer, q.Flag, "", fmt.Sprintf("answer to %q, such as %s", q.Text, q.Example))
	}
	cmd.Flags().StringVar(&o.Cluster, "cluster", "", "`name` of the cluster (default: ClusterName of Slurm)")
	cmd.Flags().IntVar(&o.Nodes, "nodes", 8, "largest `number` of nodes")
	cmd.Flags().StringSliceVar(&o.Zones, "zones", nil, "`zones` that have the machine type (default: zones b and c of the region)")
	cmd.Flags().StringVar(&o.flexConf, "flex-conf", "/etc/slurm/flex.conf", "write the part of slurm.conf to this new `file`")
	cmd.Flags().StringVar(&o.Version, "slurm-version", "", "`version` of Slurm, such as 22.05 (default: that of scontrol -V)")
	return cmd
}

func (a *app) init(cmd *cobra.Command, o *initOptions, questions []setup.Question) error {
	if err := setup.CheckNew(a.configPath, o.flexConf); err != nil {
		return usage.Wrap(err)
	}
	if err := o.CheckGiven(questions); err != nil {
		return usage.Wrap(err)
	}
	if err := a.askSlurm(cmd.Context(), o); err != nil {
		return err
	}
	if err := o.AskOthers(cmd.Context(), questions, cmd.InOrStdin(), cmd.ErrOrStderr()); err != nil {
		return usage.Wrap(err)
	}
	text := o.Config()
	cfg, err := config.Parse(a.configPath, []byte(text))
	if err != nil {
		return usage.Wrap(err)
	}
	o.Machines = map[string]string{o.NodeSet(): o.Machine}
	flexConf, err := a.slurmConf(cmd.Context(), cfg, o.Options)
	if unknown := (*slurmconf.UnknownShapeError)(nil); errors.As(err, &unknown) {
		return fmt.Errorf("--machine-type %s: its CPUs and memory are unknown: %w; correct it, or run init where Compute can be read", o.Machine, unknown.Err)
	}
	if err != nil {
		return err
	}
	if err := setup.Create(setup.File{Path: a.configPath, Text: text}, setup.File{Path: o.flexConf, Text: flexConf}); err != nil {
		return err
	}
	configuration, err := filepath.Abs(a.configPath)
	if err != nil {
		return err
	}
	included, err := filepath.Abs(o.flexConf)
	if err != nil {
		return err
	}
	_, err = io.WriteString(cmd.OutOrStdout(), o.Next(configuration, included))
	return err
}

// askSlurm reads what no flag sets, before there are questions whose answers would be lost.
func (a *app) askSlurm(ctx context.Context, o *initOptions) error {
	version, err := a.slurmVersion(ctx, &config.Config{}, o.Version)
	if err != nil {
		return err
	}
	o.Version = version.String()
	if o.Cluster == "" {
		slurm, err := a.scheduler(&config.Config{}).Config(ctx)
		if err != nil {
			return fmt.Errorf("%w; name the cluster with --cluster", err)
		}
		o.Cluster = slurm["ClusterName"]
	}
	return nil
}
