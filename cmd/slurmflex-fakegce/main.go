// Command slurmflex-fakegce is a fake Compute Engine. It keeps managed instance groups, resize
// requests and instances in memory and changes them over time as Compute does. It can run a program
// when an instance boots and when it is deleted. See its --help.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"slurmflex/test/fakegce/command"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := command.New().ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "slurmflex-fakegce:", err)
		os.Exit(command.ExitCode(err))
	}
}
