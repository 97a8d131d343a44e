package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"slurmflex/config"
	"slurmflex/flex/check"
	"slurmflex/flex/usage"
	"slurmflex/flex/view"
)

func newConfig(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "config", Short: "Check the configuration and print matching parts of slurm.conf", GroupID: "ask",
		Long: `Check the configuration, print the matching part of slurm.conf or Lua that checks
jobs at submission, or list what to change in a cluster that slurm-gcp's scripts
run. Changes nothing.`,
		Example: `  slurmflex config check
  slurmflex config slurm-conf`,
		Args: onlyCommands,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newCheck(a), newSlurmConf(a), newLua(a), newFromSlurmGCP(a))
	return cmd
}

func newCheck(a *app) *cobra.Command {
	live, effective, asJSON := false, false, false
	cmd := &cobra.Command{
		Use: "check", Short: "Report errors, advice and ignored keys of the configuration",
		Long: `Report errors in the configuration, possible improvements ("advice") and ignored keys,
one per line, with the place in the file and the fix. The check works offline and
changes nothing. With --live, it also queries Slurm and Compute, and compares
slurm.conf with the configuration.

Exit status: 0 if the configuration is valid (advice does not count), 1 if
something could not be checked, 2 if it is invalid.`,
		Example: `  slurmflex config check
  slurmflex config check --live
  slurmflex --config new.yaml config check --effective`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			out := cmd.OutOrStdout()
			cfg, err := a.config()
			var problems config.Problems
			switch {
			case asJSON && errors.As(err, &problems):
				return errors.Join(view.WriteJSON(out, check.Unloaded(a.configPath, problems)), err)
			case err != nil:
				return err
			case effective:
				report, err := check.EffectiveOf(a.configPath, cfg)
				if err != nil {
					return err
				}
				return view.Write(out, asJSON, report)
			}
			var seen *check.World
			if live {
				w, err := a.observe(cmd.Context(), cfg)
				if err != nil {
					return err
				}
				seen = &w
			}
			report := check.Of(a.configPath, cfg, seen)
			if err := view.Write(out, asJSON, report); err != nil {
				return err
			}
			if !report.Valid {
				return usage.Wrap(report.Err())
			}
			return report.Err()
		},
	}
	cmd.Flags().BoolVar(&live, "live", false, "also query Slurm and Compute; run it on the controller as SlurmUser")
	cmd.Flags().BoolVar(&effective, "effective", false, "print the effective configuration, defaults included, as YAML")
	exclude(cmd, "live", "effective")
	jsonFlag(cmd, &asJSON)
	return cmd
}

// observe reads the settings of Slurm and Compute.
func (a *app) observe(ctx context.Context, cfg *config.Config) (check.World, error) {
	cloud, noCloud := a.cloud(ctx, cfg, zap.NewNop())
	if noCloud == nil {
		defer cloud.Close()
	}
	defer a.progress.Begin("querying Slurm and Compute")()
	return check.Live(ctx, cfg, a.scheduler(cfg), cloud, noCloud)
}
