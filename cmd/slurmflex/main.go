// Command slurmflex gives a Slurm cluster on Google Compute Engine nodes
// obtained by DWS Flex-Start.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"

	"golang.org/x/sys/unix"

	"slurmflex/config"
)

// The exit codes of every command.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2 // wrong usage or configuration
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, unix.SIGTERM)
	defer stop()
	err := newRoot().ExecuteContext(ctx)
	if err != nil {
		report(err)
	}
	os.Exit(exitCode(err))
}

// report prints an error, in one line unless it is a list of problems.
func report(err error) {
	var problems config.Problems
	if errors.As(err, &problems) {
		fmt.Fprintln(os.Stderr, problems)
		return
	}
	fmt.Fprintln(os.Stderr, "slurmflex:", strings.ReplaceAll(err.Error(), "\n", "; "))
}

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
