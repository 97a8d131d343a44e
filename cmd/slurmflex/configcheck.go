package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"slurmflex/config"
	"slurmflex/flex/cost"
	"slurmflex/flex/setup"
	"slurmflex/flex/view"
)

func newConfig(a *app) *cobra.Command {
	explain := false
	cmd := &cobra.Command{
		Use: "config", Short: "Check the configuration and print matching parts of slurm.conf", GroupID: "ask",
		Long: `Check the configuration, print the matching part of slurm.conf or Lua that checks
jobs at submission, or list what to change in a cluster that slurm-gcp's scripts
run. With --explain, print the meaning, values and default of a key with all keys below it,
or of all keys. Changes nothing.`,
		Example: `  slurmflex config --explain
  slurmflex config --explain keep_idle
  slurmflex config check
  slurmflex config slurm-conf`,
		Args: func(cmd *cobra.Command, args []string) error {
			if explain && len(args) < 2 {
				return nil
			}
			return onlyCommands(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if !explain {
				return cmd.Help()
			}
			keys, err := config.Explain(strings.Join(args, ""))
			for _, k := range keys {
				fmt.Fprintf(cmd.OutOrStdout(), "%s\n%s\n", k.Path, view.Wrap(k.Meaning, "    ", view.Width))
			}
			return config.Misuse(err)
		},
	}
	cmd.Flags().BoolVar(&explain, "explain", false, "print what the key, or each key, means")
	cmd.AddCommand(newCheck(a), newSlurmConf(a), newLua(a), newFromSlurmGCP(a))
	return cmd
}

func newCheck(a *app) *cobra.Command {
	live, effective := false, false
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
			cfg, err := a.config()
			var problems config.Problems
			switch {
			case isJSON(cmd) && errors.As(err, &problems):
				return errors.Join(show(cmd, setup.Unloaded(a.configPath, problems)), err)
			case err != nil:
				return err
			case effective:
				report, err := setup.EffectiveOf(a.configPath, cfg)
				if err != nil {
					return err
				}
				return show(cmd, report)
			}
			_, unpriced := cost.ReadPrices(a.pricesPath(), true)
			report := setup.Check(a.configPath, cfg, unpriced)
			if live {
				if report, err = a.checkLive(cmd.Context(), cfg, unpriced); err != nil {
					return err
				}
			}
			if err := show(cmd, report); err != nil {
				return err
			}
			if !report.Valid {
				return config.Misuse(report.Err())
			}
			return report.Err()
		},
	}
	cmd.Flags().BoolVar(&live, "live", false, "also query Slurm and Compute; run it on the controller as SlurmUser")
	cmd.Flags().BoolVar(&effective, "effective", false, "print the effective configuration, defaults included, as YAML")
	exclude(cmd, "live", "effective")
	jsonFlag(cmd)
	return cmd
}

// checkLive also compares the configuration with Slurm and Compute.
func (a *app) checkLive(ctx context.Context, cfg *config.Config, unpriced error) (setup.Report, error) {
	cloud, noCloud := a.cloud(ctx, cfg, zap.NewNop())
	if noCloud == nil {
		defer cloud.Close()
	}
	return setup.CheckLive(ctx, a.configPath, cfg, unpriced, a.scheduler(cfg), cloud, noCloud)
}
