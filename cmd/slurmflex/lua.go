package main

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"slurmflex/config"
	"slurmflex/flex/setup"
)

func newLua(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "lua", Short: "Print Lua for Slurm that checks jobs at submission",
		Long: `Print a job_submit.lua, which checks jobs by the configuration when they are
submitted. Install it next to slurm.conf.`,
		Example: `  slurmflex config lua job_submit --output /etc/slurm/job_submit.lua`,
		Args:    onlyCommands,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newJobSubmit(a))
	return cmd
}

func newJobSubmit(a *app) *cobra.Command {
	levels, machines, output := map[string]string{}, map[string]string{}, ""
	cmd := &cobra.Command{
		Use: "job_submit", Short: "Print a job_submit.lua that refuses jobs that cannot start, and warns",
		Args: noArguments,
		RunE: a.configured(func(cmd *cobra.Command, _ []string, cfg *config.Config) error {
			if err := cmp.Or(setup.CheckLevels(levels), setup.SlurmConf{Machines: machines}.Check(cfg)); err != nil {
				return config.Misuse(err)
			}
			return setup.Output(cmd.OutOrStdout(), output, func() (string, error) {
				return setup.JobSubmit(setup.Input{Config: cfg, Machines: a.machines(cmd.Context(), cfg, machines)}, levels)
			})
		}),
	}
	var rules strings.Builder
	for _, rule := range setup.SubmitRules() {
		fmt.Fprintf(&rules, "  %-10s  %-6s  %s\n", rule.Name, rule.Default, rule.Broken)
	}
	cmd.Long = `Print a job_submit.lua for the controller. For jobs in partitions with flex-start
nodes it has these rules, each of which refuses a job, warns its user, or is off:

` + rules.String() + `
An error in the Lua refuses no job. slurm.conf needs JobSubmitPlugins=lua. A
changed file applies to the next submission.`
	cmd.Example = `  slurmflex config lua job_submit
  slurmflex config lua job_submit --rule time=warn,gpus=off --output /etc/slurm/job_submit.lua`
	cmd.Flags().StringToStringVar(&levels, "rule", nil, "change a rule: `RULE=refuse|warn|off`")
	cmd.Flags().Lookup("rule").DefValue = ""
	machineFlag(cmd, &machines)
	outputFlag(cmd, &output)
	return cmd
}
