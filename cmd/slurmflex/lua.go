package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"slurmflex/config"
	"slurmflex/flex/slurmconf"
)

func newLua(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "lua", Short: "Print Lua for Slurm that checks jobs, or shows waits, at submission",
		Long: `Print a job_submit.lua, which checks jobs by the configuration when they are
submitted, or a cli_filter.lua, which shows how long jobs like the new one have
waited for machines. Both go beside slurm.conf.`,
		Example: `  slurmflex config lua job_submit --output /etc/slurm/job_submit.lua
  slurmflex config lua cli_filter --output /etc/slurm/cli_filter.lua`,
		Args: onlyCommands,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newJobSubmit(a), newCLIFilter(a))
	return cmd
}

func newJobSubmit(a *app) *cobra.Command {
	levels, machines := map[string]string{}, map[string]string{}
	cmd := luaCommand(a, func(ctx context.Context, cfg *config.Config) (string, error) {
		if err := checkLevels(levels); err != nil {
			return "", err
		}
		if err := a.checkMachines(cfg, machines); err != nil {
			return "", err
		}
		over := a.progress.begin("querying Compute for machine types")
		in := slurmconf.Input{Config: cfg, Machines: a.machines(ctx, cfg, machines)}
		over()
		return slurmconf.JobSubmit(in, levels)
	})
	cmd.Use, cmd.Short = "job_submit", "Print a job_submit.lua that refuses jobs that cannot start, and warns"
	var rules strings.Builder
	for _, rule := range slurmconf.SubmitRules() {
		fmt.Fprintf(&rules, "  %-10s  %-6s  %s\n", rule.Name, rule.Default, rule.Broken)
	}
	cmd.Long = `Prints a job_submit.lua for the controller. For jobs in partitions with flex-start
nodes it has these rules, each of which refuses a job, warns its user, or is off:

` + rules.String() + `
An error in the Lua refuses no job. slurm.conf needs JobSubmitPlugins=lua. A
changed file is in force from the next submission on.`
	cmd.Example = `  slurmflex config lua job_submit
  slurmflex config lua job_submit --rule time=warn,gpus=off --output /etc/slurm/job_submit.lua`
	cmd.Flags().StringToStringVar(&levels, "rule", nil, "what a rule does, as `RULE=refuse|warn|off`")
	cmd.Flags().Lookup("rule").DefValue = ""
	machineFlag(cmd, &machines)
	return cmd
}

func checkLevels(levels map[string]string) error {
	var names []string
	for _, rule := range slurmconf.SubmitRules() {
		names = append(names, rule.Name)
	}
	for name, level := range levels {
		if !slices.Contains(names, name) {
			return usageError{fmt.Errorf("--rule %s=%s: unknown rule %q; choose one of: %s", name, level, name, strings.Join(names, ", "))}
		}
		if all := slurmconf.SubmitLevels(); !slices.Contains(all, level) {
			return usageError{fmt.Errorf("--rule %s=%s: choose one of: %s", name, level, strings.Join(all, ", "))}
		}
	}
	return nil
}

func newCLIFilter(a *app) *cobra.Command {
	cmd := luaCommand(a, func(_ context.Context, cfg *config.Config) (string, error) {
		program, err := os.Executable()
		if err != nil {
			return "", fmt.Errorf("find slurmflex's own path: %w", err)
		}
		file, err := filepath.Abs(a.configPath)
		if err != nil {
			return "", err
		}
		return slurmconf.CLIFilter(cfg, program, file), nil
	})
	cmd.Use, cmd.Short = "cli_filter", "Print a cli_filter.lua that shows the expected wait"
	cmd.Long = `Prints a cli_filter.lua for hosts where users submit jobs. For a job with
--partition, and as many nodes as --nodes says, it prints the line of slurmflex
estimate --short: at a terminal, where the host has the history, and if that takes
less than a second. It never delays a job further or refuses it.

The hosts need slurmflex and its configuration at the same paths as here, and
slurm.conf CliFilterPlugins=lua.`
	cmd.Example = `  slurmflex config lua cli_filter --output /etc/slurm/cli_filter.lua`
	return cmd
}

// luaCommand prints what write returns, or puts it into a file.
func luaCommand(a *app, write func(context.Context, *config.Config) (string, error)) *cobra.Command {
	output := ""
	cmd := &cobra.Command{
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := a.config()
			if err != nil {
				return err
			}
			text, err := write(cmd.Context(), cfg)
			if err != nil {
				return err
			}
			return put(cmd.OutOrStdout(), output, text)
		},
	}
	outputFlag(cmd, &output)
	return cmd
}
