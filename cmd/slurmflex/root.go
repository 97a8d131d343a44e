package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"slurmflex/config"
	"slurmflex/flex/hook"
)

// defaultConfig is the configuration file used without --config.
const defaultConfig = "/etc/slurmflex/config.yaml"

func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "slurmflex",
		Short: "Flex-start nodes of Google Compute Engine for Slurm",
		Long: `slurmflex gives a Slurm cluster on Google Compute Engine nodes obtained by DWS
Flex-Start: from a queue, all of a job's nodes at once, for 10 minutes to 7 days.

slurmctld calls resume and suspend to power nodes up and down. The daemon, or
sync from cron, turns that into managed instance groups and resize requests, and
reconciles the difference between what Slurm wants and what Compute has.`,
		Example: `  slurmflex config check --live
  slurmflex status
  slurmflex why 812`,
		Args:          onlyCommands,
		Version:       thisBuild().String(),
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		text, _, _ := strings.Cut(err.Error(), ": strconv.")
		return config.Misusef("%s; see %s --help", strings.Replace(text, "unknown flag: ", "unknown flag ", 1), cmd.CommandPath())
	})
	root.Flags().Bool("version", false, "print the version and exit")
	root.SetVersionTemplate("{{.Version}}")
	root.PersistentFlags().StringVar(&a.configPath, "config", defaultConfig, "the configuration `file`")
	root.PersistentFlags().StringVar(&a.logLevel, "log-level", "", "log at this `level` instead of the configured one: debug, info, warn or error")
	root.AddGroup(
		&cobra.Group{ID: "ask", Title: "Inspect:"},
		&cobra.Group{ID: "run", Title: "Run (daemon or cron):"},
	)
	root.AddCommand(
		newStatus(a), newWhy(a), newEstimate(a), newCost(a), newPlan(a), newConfig(a), newInit(a), newVersion(),
		newDaemon(a), newSync(a), newGC(a), newBlock(a), newUnblock(a), newDown(a), newPass(a),
		newHook(a, hook.Resume, "ResumeProgram: request machines for nodes that Slurm powers up"),
		newHook(a, hook.Suspend, "SuspendProgram: delete the machines of nodes that Slurm powers down"),
		newHook(a, hook.ResumeFail, "ResumeFailProgram: cancel the requests of nodes that did not boot in time"),
	)
	addCompletion(root)
	completeNoFiles(root)
	completeFlags(root, map[string]cobra.CompletionFunc{"log-level": choices("debug, info, warn, error")})
	refuseHelpOnNothing(a, root)
	return root
}

// refuseHelpOnNothing makes --help fail after a command that does not exist, as the command would
// fail without --help: cobra prints help before it checks arguments.
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

// addCompletion adds cobra's completion command and makes it report wrong usage like our commands.
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

// jsonFlag adds --json.
func jsonFlag(cmd *cobra.Command) {
	cmd.Flags().Bool("json", false, "print JSON; /usr/share/slurmflex/slurmflex.schema.json describes it")
}

// isJSON reports whether --json is set.
func isJSON(cmd *cobra.Command) bool {
	set, _ := cmd.Flags().GetBool("json") // false without the flag
	return set
}

// show prints what a command reports, as text or as JSON.
func show(cmd *cobra.Command, document fmt.Stringer) error {
	return output(cmd, document, document.String())
}

// output prints a text or, with --json, the document that it describes.
func output(cmd *cobra.Command, document any, text string) error {
	if !isJSON(cmd) {
		_, err := io.WriteString(cmd.OutOrStdout(), text)
		return err
	}
	e := json.NewEncoder(cmd.OutOrStdout())
	e.SetIndent("", "  ")
	return e.Encode(document)
}

// exclude makes two flags of a command mutually exclusive. Cobra's own check is no usage error.
func exclude(cmd *cobra.Command, one, other string) {
	check := cmd.Args
	cmd.MarkFlagsMutuallyExclusive(one, other) // completion then offers only one of them
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if cmd.Flags().Changed(one) && cmd.Flags().Changed(other) {
			return config.Misusef("--%s and --%s are mutually exclusive", one, other)
		}
		return check(cmd, args)
	}
}

// oneArgument accepts one argument; any other number is an error with the usage and an example.
func oneArgument(example string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			_, arguments, _ := strings.Cut(cmd.Use, " ")
			return config.Misusef("usage: %s %s (for example %s)", cmd.CommandPath(), arguments, example)
		}
		return nil
	}
}

// noArguments rejects arguments for commands that take only flags.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return config.Misusef("%s takes no arguments, not even %q; see %[1]s --help", cmd.CommandPath(), args[0])
	}
	return nil
}

// onlyCommands rejects an argument of a command that has only subcommands, as an unknown
// subcommand. The error suggests commands with a similar name.
func onlyCommands(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	next := "; see"
	cmd.SuggestionsMinimumDistance = 2
	if similar := cmd.SuggestionsFor(args[0]); len(similar) > 0 {
		slices.Sort(similar)
		next = "; did you mean " + strings.Join(similar, " or ") + "? See"
	}
	return config.Misusef("%s has no command %q%s %[1]s --help", cmd.CommandPath(), args[0], next)
}
