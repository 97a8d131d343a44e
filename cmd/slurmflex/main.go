// Command slurmflex gives a Slurm cluster on Google Compute Engine nodes
// obtained by DWS Flex-Start.
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

// changesSomething reports whether a call may change something in Compute or Slurm.
func changesSomething(cmd *cobra.Command) bool {
	if dry, err := cmd.Flags().GetBool("dry-run"); err == nil && dry {
		return false
	}
	return cmd.GroupID == "run" || isHook(cmd) || cmd.Name() == "trial" || cmd.Name() == "pass"
}

// outlive lets a command outlive its terminal and the reader of what it prints, so that it
// ends in order and not half-way: a write that nobody reads is an error and no more,
// and a hangup ends the command as TERM does. A hangup that was to be ignored (nohup) is
// ignored, and to the daemon it means something else.
func outlive(cmd *cobra.Command) (stop func()) {
	// To be notified keeps the signal from ending the process; to ignore it would make
	// our children ignore it too.
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
	var logged loggedError
	switch {
	case errors.As(err, &logged):
	case errors.As(err, &problems):
		fmt.Fprintln(os.Stderr, problems)
	default:
		fmt.Fprintln(os.Stderr, "slurmflex:", strings.ReplaceAll(err.Error(), "\n", "; "))
	}
}

// loggedError is an error that is in the log already.
type loggedError struct{ error }

func (e loggedError) Unwrap() error { return e.error }

// usageError is a wrong call, or a configuration that cannot be used.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// usage is a wrong call, unless the error is nil.
func usage(err error) error {
	if err == nil {
		return nil
	}
	return usageError{err}
}

func exitCode(err error) int {
	var usage usageError
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &usage):
		return exitUsage
	}
	return exitFailed
}
