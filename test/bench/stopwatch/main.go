// Command stopwatch runs a program several times, one run after the other, and prints each run's
// maximum memory as JSON:
//
//	stopwatch 50 build/slurmflex version
//
// The stopwatch is a separate, small program, because Linux counts the memory of exec's caller
// towards the new program.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

// lap is one run.
type lap struct {
	Memory int64 `json:"memory"` // bytes, the maximum resident set
}

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "stopwatch:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	if len(args) < 2 {
		return errors.New("it takes a number of runs and a command, such as 50 build/slurmflex version")
	}
	runs, err := strconv.Atoi(args[0])
	if err != nil || runs < 1 {
		return fmt.Errorf("%q is not a number of runs; it must be 1 or more", args[0])
	}
	laps := make([]lap, runs)
	for i := range laps {
		if laps[i], err = once(args[1], args[2:]); err != nil {
			return err
		}
	}
	return json.NewEncoder(out).Encode(laps)
}

// once runs the program once.
func once(program string, args []string) (lap, error) {
	cmd := exec.Command(program, args...)
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return lap{}, fmt.Errorf("%s: %w", cmd, err)
	}
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return lap{}, fmt.Errorf("%s: its resource usage is not known", cmd)
	}
	return lap{usage.Maxrss << 10}, nil
}
