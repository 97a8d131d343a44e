// Command stopwatch runs a program several times, one run after the other, and prints each run's
// duration and maximum memory as JSON:
//
//	stopwatch 50 build/slurmflex version
//
// The processes that a run leaves behind, such as a detached pass, end before the next run starts.
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
	"time"

	"golang.org/x/sys/unix"
)

// lap is one run.
type lap struct {
	Took   time.Duration `json:"took"`   // ns, from before the start to after the exit
	Memory int64         `json:"memory"` // bytes, the maximum resident set
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
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("adopt what the runs leave behind: %w", err)
	}
	laps := make([]lap, runs)
	for i := range laps {
		if laps[i], err = once(args[1], args[2:]); err != nil {
			return err
		}
		if err := reap(); err != nil {
			return err
		}
	}
	return json.NewEncoder(out).Encode(laps)
}

// once runs the program once.
func once(program string, args []string) (lap, error) {
	cmd := exec.Command(program, args...)
	cmd.Stderr = os.Stderr
	began := time.Now()
	err := cmd.Run()
	took := time.Since(began)
	if err != nil {
		return lap{}, fmt.Errorf("%s: %w", cmd, err)
	}
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return lap{}, fmt.Errorf("%s: its resource usage is not known", cmd)
	}
	return lap{Took: took, Memory: usage.Maxrss << 10}, nil
}

// reap waits until all processes that the run left behind have ended.
func reap() error {
	for {
		_, err := unix.Wait4(-1, nil, 0, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.ECHILD):
			return nil
		case err != nil:
			return fmt.Errorf("wait for what was left behind: %w", err)
		}
	}
}
