package notify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"slurmflex/config"
	"slurmflex/flex/view"
)

// drainDelay is how long a killed program's output may stay open.
const drainDelay = time.Second

// run runs the program for an event. At the timeout it kills the program and its children. It
// returns the beginning of the program's output on one line.
func run(ctx context.Context, cfg *config.Config, e Event) (output string, err error) {
	program, timeout := cfg.Options.NotifyProgram, cfg.Options.NotifyTimeout
	if err := config.CheckProgram(program); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("killed after %s (notify_timeout)", timeout))
	defer cancel()
	cmd := exec.CommandContext(ctx, program, e.Kind, e.id())
	var out beginning
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = e.environment(cfg.Cluster), "/", &out, &out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = drainDelay
	err = cmd.Run()
	switch {
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case errors.Is(err, exec.ErrWaitDelay): // it has succeeded and left a child behind
		err = nil
	}
	return strings.Join(strings.Fields(view.Printable(out.kept.String())), " "), err
}

// mostOutput is the number of bytes of a program's output that are kept.
const mostOutput = 300

// beginning keeps the beginning of its input.
type beginning struct{ kept bytes.Buffer }

func (w *beginning) Write(b []byte) (int, error) {
	w.kept.Write(b[:min(len(b), mostOutput-w.kept.Len())])
	return len(b), nil
}
