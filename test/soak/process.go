package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// daemonCommand has this program be the daemon.
const daemonCommand = "daemon"

// process is the daemon, in a process of its own, so that what it holds is not
// mixed with what the models do.
type process struct {
	cmd     *exec.Cmd
	orders  io.WriteCloser
	samples *json.Decoder
	log     *os.File
}

// startDaemon starts the daemon of a host's folder.
func startDaemon(ctx context.Context, dir string, c clock) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &process{}
	p.cmd = exec.CommandContext(ctx, self, daemonCommand, filepath.Join(dir, "config.yaml"), strconv.FormatInt(c.begun.UnixNano(), 10))
	p.cmd.Cancel = func() error { return p.cmd.Process.Signal(unix.SIGTERM) }
	p.cmd.WaitDelay = 10 * time.Second
	if p.log, err = os.Create(filepath.Join(dir, "slurmflex.log")); err != nil {
		return nil, err
	}
	p.cmd.Stderr = p.log
	if p.orders, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.samples = json.NewDecoder(bufio.NewReader(out))
	return p, p.cmd.Start()
}

// sample has the process look at itself.
func (p *process) sample() (s sample, err error) {
	if _, err = io.WriteString(p.orders, "\n"); err == nil {
		err = p.samples.Decode(&s)
	}
	if err != nil {
		return sample{}, fmt.Errorf("take a sample of the daemon, whose log is %s: %w", p.log.Name(), err)
	}
	return s, nil
}

// stop ends the process and waits for it.
func (p *process) stop() error {
	err := p.orders.Close()
	if failed := p.cmd.Wait(); err == nil {
		err = failed
	}
	if failed := p.log.Close(); err == nil {
		err = failed
	}
	return err
}
