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
	err := cmp.Or(newRoot(a).ExecuteContext(ctx), a.unhelped)
	if err != nil {
		report(err)
	}
	return exitCode(err)
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
