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
	// drainDelay is how long a command's output may stay open after the
	// command itself has ended.
	drainDelay = time.Second

	// maxStderr is how much is kept of what a command prints to stderr.
	maxStderr = 64 << 10
)

// run runs a command of Slurm and gives what it printed, which is there also
// with the error of a command that failed.
func (c *Client) run(ctx context.Context, program string, args ...string) ([]byte, error) {
	call := describe(program, args)
	if c.BinDir != "" && !filepath.IsAbs(c.BinDir) {
		return nil, fmt.Errorf("%s: slurm_bin_dir %q is no absolute path", call, c.BinDir)
	}
	if err := c.acquire(ctx); err != nil {
		return nil, fmt.Errorf("%s: %w", call, err)
	}
	defer c.release()

	begun := time.Now()
	name := nameOf(program, args)
	last, _ := c.lengths.Load(name)
	likely, _ := last.(int) // 0 before the first
	out, err := c.exec(ctx, call, program, args, likely)
	c.lengths.Store(name, len(out))
	took := time.Since(begun)
	if c.Observe != nil {
		c.Observe(name, took, err)
	}
	if c.Log != nil {
		c.Log.Debug("slurm", zap.String("command", call), zap.Duration("took", took), zap.Error(err))
	}
	return out, err
}

// usual are the folders of Slurm's commands: that of packages, and that of a
// Slurm built from source, as slurm-gcp's images have it.
var usual = []string{"/usr/bin", "/usr/local/bin"}

// Folder returns the folder from which the client runs a program.
func (c *Client) Folder(program string) string { return cmp.Or(c.BinDir, folderOf(program, usual)) }

// folderOf is the first of the folders that has the program, or the first of all.
func folderOf(program string, folders []string) string {
	for _, dir := range folders {
		if _, err := os.Stat(filepath.Join(dir, program)); err == nil {
			return dir
		}
	}
	return folders[0]
}

// nameOf is what kind of command it is, without what it is about.
func nameOf(program string, args []string) string {
	if program != "scontrol" {
		return program // the others take flags only
	}
	words := slices.DeleteFunc(slices.Clone(args), func(arg string) bool { return strings.HasPrefix(arg, "-") })
	n := 1
	if len(words) > 1 && words[0] == "show" {
		n = 2
	}
	return strings.Join(append([]string{program}, words[:min(n, len(words))]...), " ")
}

// exec runs a command that may run now, and is likely to print so many bytes.
func (c *Client) exec(ctx context.Context, call, program string, args []string, likely int) ([]byte, error) {
	timeout := cmp.Or(c.Timeout, defaultTimeout)
	ctx, cancelTimeout := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("no answer within %s", timeout))
	defer cancelTimeout()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	maxOutput := cmp.Or(c.MaxOutput, defaultMaxOutput)
	stdout := &output{room: maxOutput, spilled: cancel}
	stdout.kept.Grow(likely + likely/16)
	stderr := &output{room: maxStderr, spilled: func() {}}
	cmd := exec.CommandContext(ctx, filepath.Join(c.Folder(program), program), args...)
	cmd.Env = c.environment()
	cmd.Stdout, cmd.Stderr = stdout, stderr
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
	case ctx.Err() != nil:
		return nil, fmt.Errorf("%s: %w%s", call, context.Cause(ctx), after(": ", words))
	case errors.Is(err, exec.ErrWaitDelay):
		_ = killGroup(cmd) // what it left behind; gone already is as good
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

// killGroup kills a command and all it has started.
func killGroup(cmd *exec.Cmd) error {
	return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
}

// output keeps what a command prints while there is room; what comes then is
// spilled.
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
