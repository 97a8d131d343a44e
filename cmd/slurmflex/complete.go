package main

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"slurmflex/config"
	"slurmflex/flex/view"
)

// completeLimit bounds how long a shell waits for names.
const completeLimit = time.Second

// complete completes the only argument, or the value of a flag, with names that the daemon knows.
// Without a daemon it completes nothing.
func (a *app) complete(names func(view.View) []string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), completeLimit)
		defer cancel()
		v, err := a.daemon().View(ctx, config.GlanceAt(a.configPath))
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return names(v), cobra.ShellCompDirectiveNoFileComp
	}
}

// completeFlags completes the values of flags.
func completeFlags(cmd *cobra.Command, values map[string]cobra.CompletionFunc) {
	for flag, complete := range values {
		if err := cmd.RegisterFlagCompletionFunc(flag, complete); err != nil {
			panic(err) // there is no such flag
		}
	}
}

// choices completes with the words.
func choices(words string) cobra.CompletionFunc {
	return cobra.FixedCompletions(strings.Split(words, ", "), cobra.ShellCompDirectiveNoFileComp)
}

// completeNoFiles prevents the completion of file names for commands that take none.
func completeNoFiles(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		completeNoFiles(sub)
	}
	if cmd.ValidArgsFunction == nil && !strings.Contains(cmd.Use, "FILE") {
		cmd.ValidArgsFunction = cobra.NoFileCompletions
	}
}
