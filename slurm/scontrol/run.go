package scontrol

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"go.uber.org/zap"
)

const (
	// drainDelay is how long a command's output may stay open after the command itself has ended. On a busy
	// machine, the output may be read late.
	drainDelay = 5 * time.Second

	// maxStderr is the maximum number of bytes kept of a command's stderr.
	maxStderr = 64 << 10
)

// run runs one of Slurm's commands and returns its output, even if the command fails.
func (c *Client) run(ctx context.Context, program string, args ...string) ([]byte, error) {
	return c.runWith(ctx, "", program, args...)
}

// runWith runs a command as run does. Without arguments, scontrol executes the lines of its input.
func (c *Client) runWith(ctx context.Context, input, program string, args ...string) ([]byte, error) {
	call, name := describe(program, args), nameOf(program, args)
	if input != "" {
		first, _, _ := strings.Cut(input, "\n")
		call = fmt.Sprintf("%s, and %d more", describe(program, []string{first}), strings.Count(input, "\n")-1)
		name = nameOf(program, strings.Fields(first))
	}
	if c.BinDir != "" && !filepath.IsAbs(c.BinDir) {
		return nil, fmt.Errorf("%s: slurm_bin_dir %q is not an absolute path", call, c.BinDir)
	}
	if err := c.acquire(ctx); err != nil {
		return nil, fmt.Errorf("%s: %w", call, err)
	}
	defer c.release()

	begun := time.Now()
	out, err := c.exec(ctx, call, input, program, args)
	took := time.Since(begun)
	if c.Observe != nil {
		c.Observe(name, took, err)
	}
	if c.Log != nil {
		c.Log.Debug("slurm", zap.String("command", call), zap.Duration("took", took), zap.Error(err))
	}
	return out, err
}

// usual are the usual folders of Slurm's commands: that of packages, and that of a Slurm built from
// source, as on slurm-gcp's images.
var usual = []string{"/usr/bin", "/usr/local/bin"}

// folder returns the folder from which the client runs a program.
func (c *Client) folder(program string) string { return cmp.Or(c.BinDir, folderOf(program, usual)) }

// folderOf returns the first folder that has the program. If none has it, it returns the first
// folder.
func folderOf(program string, folders []string) string {
	for _, dir := range folders {
		if _, err := os.Stat(filepath.Join(dir, program)); err == nil {
			return dir
		}
	}
	return folders[0]
}

// nameOf returns the kind of a command, without the objects that it acts on.
func nameOf(program string, args []string) string {
	if program != "scontrol" {
		return program // all other arguments are flags
	}
	words := slices.DeleteFunc(slices.Clone(args), func(arg string) bool { return strings.HasPrefix(arg, "-") })
	n := 1
	if len(words) > 1 && words[0] == "show" {
		n = 2
	}
	return strings.Join(append([]string{program}, words[:min(n, len(words))]...), " ")
}

// exec runs a command after acquire.
func (c *Client) exec(ctx context.Context, call, input, program string, args []string) ([]byte, error) {
	timeout := cmp.Or(c.Timeout, defaultTimeout)
	ctx, cancelTimeout := context.WithTimeoutCause(ctx, timeout, ErrNoController)
	defer cancelTimeout()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	maxOutput := cmp.Or(c.MaxOutput, defaultMaxOutput)
	stdout := &output{room: maxOutput, spilled: cancel}
	stderr := &output{room: maxStderr, spilled: func() {}}
	cmd := exec.CommandContext(ctx, filepath.Join(c.folder(program), program), args...)
	cmd.Env = c.environment()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(input), stdout, stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return killGroup(cmd) }
	cmd.WaitDelay = drainDelay

	err := cmd.Run()
	words := ownWords(stderr.kept.Bytes())
	switch {
	case stdout.spill:
		return nil, fmt.Errorf("%s: more than %d bytes of output", call, maxOutput)
	case err == nil:
		return stdout.kept.Bytes(), nil
	case errors.Is(context.Cause(ctx), ErrNoController): // it was killed; it retries for MessageTimeout, which may be longer
		return nil, &failure{call: call, words: fmt.Sprintf("no answer within %s%s", timeout, after(": ", words)), kind: ErrNoController}
	case ctx.Err() != nil:
		return nil, fmt.Errorf("%s: %w%s", call, context.Cause(ctx), after(": ", words))
	case errors.Is(err, exec.ErrWaitDelay):
		_ = killGroup(cmd) // its children; an error means that they have ended
		return nil, fmt.Errorf("%s: ended, but left its output open", call)
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
		return nil, fmt.Errorf("%s: %w: is slurm_bin_dir the folder of scontrol and squeue?", call, err)
	case words == "":
		words = cmp.Or(ownWords(stdout.kept.Bytes()), err.Error())
	}
	return stdout.kept.Bytes(), &failure{call: call, words: words, kind: classify(words)}
}

// acquire waits until another command may run.
func (c *Client) acquire(ctx context.Context) error {
	c.slotsOnce.Do(func() { c.slots = make(chan struct{}, maxChildren) })
	select {
	case c.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (c *Client) release() { <-c.slots }

// killGroup kills a command and all processes that it has started.
func killGroup(cmd *exec.Cmd) error {
	return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
}

// output keeps a command's output up to a limit and discards the rest.
type output struct {
	kept    bytes.Buffer
	room    int64
	spill   bool
	spilled func()
}

func (o *output) Write(p []byte) (int, error) {
	if o.spill || int64(len(p)) > o.room {
		o.spill = true
		o.spilled()
		return len(p), nil
	}
	o.room -= int64(len(p))
	return o.kept.Write(p)
}
