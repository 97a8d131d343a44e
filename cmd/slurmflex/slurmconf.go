package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"slurmflex/config"
	"slurmflex/flex/setup"
	"slurmflex/flex/slurmconf"
	"slurmflex/flex/usage"
	"slurmflex/slurm"
)

func newSlurmConf(a *app) *cobra.Command {
	o := slurmconf.Options{}
	output := ""
	cmd := &cobra.Command{
		Use: "slurm-conf", Short: "Print the part of slurm.conf that the configuration needs",
		Long: `Prints the part of slurm.conf that the configuration needs: programs, times, nodes
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
			return put(cmd.OutOrStdout(), output, func() (string, error) { return a.slurmConf(cmd.Context(), cfg, o) })
		}),
	}
	outputFlag(cmd, &output)
	cmd.Flags().StringVar(&o.Version, "slurm-version", "", "`version` of Slurm, such as 22.05; default: that of scontrol -V")
	cmd.Flags().StringVar(&o.Programs, "programs", "", "`folder` of resume, suspend and resume-fail; default: where slurmflex is installed")
	machineFlag(cmd, &o.Machines)
	return cmd
}

func outputFlag(cmd *cobra.Command, file *string) {
	cmd.Flags().StringVarP(file, "output", "o", "", "write to this `file` instead of stdout")
}

func machineFlag(cmd *cobra.Command, machines *map[string]string) {
	cmd.Flags().StringToStringVar(machines, "machine", nil, "machine type of a nodeset, as `NODESET=TYPE`, instead of querying Compute for its template")
	cmd.Flags().Lookup("machine").DefValue = "" // otherwise the help shows [] as the default
}

// put writes a text to the file in --output, or to stdout.
func put(stdout io.Writer, output string, written func() (string, error)) error {
	if output != "" {
		if err := setup.CheckOutput(output); err != nil {
			return usage.Wrap(err)
		}
	}
	text, err := written()
	switch {
	case err != nil:
		return err
	case output != "":
		return setup.Replace(output, text)
	}
	_, err = io.WriteString(stdout, text)
	return err
}

// slurmConf returns the part of slurm.conf that a configuration needs.
func (a *app) slurmConf(ctx context.Context, cfg *config.Config, o slurmconf.Options) (text string, err error) {
	in := slurmconf.Input{Config: cfg, Programs: o.Programs}
	if in.Version, err = a.slurmVersion(ctx, cfg, o.Version); err != nil {
		return "", err
	}
	if err := o.Check(cfg); err != nil {
		return "", usage.Wrap(err)
	}
	if in.Programs == "" {
		if in.Programs, err = slurmconf.Programs(); err != nil {
			return "", err
		}
	}
	in.Machines = a.machines(ctx, cfg, o.Machines)
	return slurmconf.Text(in)
}

func (a *app) slurmVersion(ctx context.Context, cfg *config.Config, given string) (v slurm.Version, err error) {
	if given == "" {
		if v, err = a.scheduler(cfg).Version(ctx); err != nil {
			return v, fmt.Errorf("%w; or give --slurm-version, such as 22.05", err)
		}
	} else if v, err = slurm.ParseVersion(given); err != nil {
		return v, usage.Errorf("--slurm-version: %w", err)
	}
	if old := slurmconf.TooOld(v); old != "" {
		return v, usage.Wrap(errors.New(old + "; set the version that you upgrade to with --slurm-version"))
	}
	return v, nil
}

// machines returns the machine types of our nodesets.
func (a *app) machines(ctx context.Context, cfg *config.Config, given map[string]string) map[string]slurmconf.Machine {
	defer a.progress.Begin("querying Compute for machine types")()
	cloud, noCloud := a.cloud(ctx, cfg, zap.NewNop())
	if noCloud == nil {
		defer cloud.Close()
	}
	return slurmconf.Machines(ctx, cfg, cloud, noCloud, given)
}
