// Command slurmflex-trial tries on a project whether Compute does what slurmflex relies on.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"

	"golang.org/x/sys/unix"

	"slurmflex/cmd/slurmflex-trial/trial"
	"slurmflex/config"
)

func main() { os.Exit(run()) }

// run returns the exit status. A trial outlives its terminal and the reader of its output, because
// it must delete what it has created: a write without a reader is only an error, and SIGHUP ends
// the trial as SIGTERM does, unless nohup has made the process ignore SIGHUP.
func run() int {
	signal.Notify(make(chan os.Signal, 1), unix.SIGPIPE)
	ends := []os.Signal{os.Interrupt, unix.SIGTERM}
	if !signal.Ignored(unix.SIGHUP) {
		ends = append(ends, unix.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), ends...)
	defer stop()
	err := trial.New(nil).ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	fmt.Fprintln(os.Stderr, "slurmflex-trial:", strings.ReplaceAll(err.Error(), "\n", "; "))
	if config.IsMisuse(err) {
		return 2
	}
	return 1
}
