package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

// defaultConfig is where the configuration is looked for without --config.
const defaultConfig = "/etc/slurmflex/config.yaml"

func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "slurmflex",
		Short: "Flex-start nodes of Google Compute Engine for Slurm",
		Long: `slurmflex gives a Slurm cluster on Google Compute Engine nodes obtained by DWS
Flex-Start: from a queue, all of a job's nodes at once, for 10 minutes to 7 days.

slurmctld calls resume and suspend to power nodes up and down. The daemon, or
sync from cron, turns that into managed instance groups and resize requests, and
puts in order what differs from what Slurm wants.`,
		Example: `  slurmflex config check --live
  slurmflex status --watch
  slurmflex why 812`,
		Args:          onlyCommands,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usageError{fmt.Errorf("%w; %s --help tells what it takes", err, cmd.CommandPath())}
	})
	root.PersistentFlags().StringVar(&a.configPath, "config", defaultConfig, "the configuration `file`")
	root.PersistentFlags().StringVar(&a.logLevel, "log-level", "", "log at this `level` instead of the configured one: debug, info, warn or error")
	root.AddGroup(
		&cobra.Group{ID: "ask", Title: "To see and ask:"},
		&cobra.Group{ID: "run", Title: "To run it (daemon or cron):"},
		&cobra.Group{ID: "hook", Title: "Called by slurmctld:"},
	)
	root.AddCommand(
		newStatus(a), newWhy(a), newPlan(a), newConfig(a), newVersion(),
		newDaemon(a), newSync(a), newGC(a), newUnblock(a), newRound(a),
		newHook(a, resume, "ResumeProgram: obtain machines for nodes that Slurm powers up"),
		newHook(a, suspend, "SuspendProgram: delete the machines of nodes that Slurm powers down"),
		newHook(a, resumeFail, "ResumeFailProgram: withdraw what was asked for nodes that did not come up in time"),
	)
	addCompletion(root)
	refuseHelpOnNothing(a, root)
	return root
}

// refuseHelpOnNothing has --help after a command that does not exist fail as
// the command does without it: cobra checks no arguments before it helps.
func refuseHelpOnNothing(a *app, root *cobra.Command) {
	help := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		if cmd.HasSubCommands() {
			a.unhelped = onlyCommands(cmd, cmd.Flags().Args())
		}
		if a.unhelped == nil {
			help(cmd, args)
		}
	})
}

// addCompletion adds cobra's command of that name, which answers wrong usage
// as ours do.
func addCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() != "completion" {
			continue
		}
		c.Args = onlyCommands
		c.Example = "  slurmflex completion bash >/etc/bash_completion.d/slurmflex"
		c.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		for _, shell := range c.Commands() {
			shell.Args = noArguments
		}
	}
}

// exactly accepts n arguments and answers anything else with the usage.
func exactly(n int, usage string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != n {
			return usageError{fmt.Errorf("%s: %d arguments given; %s", cmd.CommandPath(), len(args), usage)}
		}
		return nil
	}
}

var noArguments = exactly(0, "it takes none")

// onlyCommands is for what does nothing by itself: an argument is a command
// that there is not.
func onlyCommands(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageError{fmt.Errorf("%s has no command %q; %s --help lists them", cmd.CommandPath(), args[0], cmd.CommandPath())}
	}
	return nil
}
