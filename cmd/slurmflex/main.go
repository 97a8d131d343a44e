// Command slurmflex provides a Slurm cluster on Google Compute Engine with nodes obtained by DWS
// Flex-Start.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"slurmflex/config"
)

// The exit statuses of every command.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2 // wrong usage or configuration
)

func main() { os.Exit(run(&app{})) }

// run executes the command line and returns the exit status.
func run(a *app) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, unix.SIGTERM)
	defer stop()
	root, stopOutliving := newRoot(a), func() {}
	defer func() { stopOutliving() }()
	root.PersistentPreRun = func(cmd *cobra.Command, _ []string) {
		if changesSomething(cmd) {
			stopOutliving = outlive(cmd)
		}
	}
	err := cmp.Or(root.ExecuteContext(ctx), a.unhelped)
	if err != nil {
		report(err)
	}
	return exitCode(err)
}

// changesSomething reports whether a call may change Compute or Slurm.
func changesSomething(cmd *cobra.Command) bool {
	if dry, err := cmd.Flags().GetBool("dry-run"); err == nil && dry {
		return false
	}
	return cmd.GroupID == "run" || isHook(cmd) || cmd.Name() == "pass"
}

// outlive keeps a command running after its terminal or the reader of its output is gone, so that
// the command can finish cleanly. A write without a reader is only an error, and SIGHUP cancels the
// command like SIGTERM. An ignored SIGHUP (nohup) remains ignored; the daemon handles SIGHUP
// itself.
func outlive(cmd *cobra.Command) (stop func()) {
	// Notify keeps the signal from ending the process. Ignoring it would make our child processes
	// ignore it, too.
	signal.Notify(make(chan os.Signal, 1), unix.SIGPIPE)
	if cmd.Name() == "daemon" || signal.Ignored(unix.SIGHUP) {
		return func() {}
	}
	ctx, stop := signal.NotifyContext(cmd.Context(), unix.SIGHUP)
	cmd.SetContext(ctx)
	return stop
}

// report prints an error, in one line unless it is a list of problems.
func report(err error) {
	var problems config.Problems
	if errors.As(err, &problems) {
		fmt.Fprintln(os.Stderr, problems)
	} else {
		fmt.Fprintln(os.Stderr, "slurmflex:", strings.ReplaceAll(err.Error(), "\n", "; "))
	}
}

func exitCode(err error) int {
	switch {
	case err == nil:
		return exitDone
	case config.IsMisuse(err):
		return exitUsage
	}
	return exitFailed
}
