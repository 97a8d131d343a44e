package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"slurmflex/flex/wake"
	"slurmflex/test/fakegce"
	"slurmflex/test/fakeslurm"
	"slurmflex/test/must"
)

// world is the Slurm and the Compute that slurmflex uses, and the host on which it runs.
type world struct {
	dir       string // the host's folder
	endpoint  string // Compute's
	page      string // host:port of the daemon's page
	slurm     *fakeslurm.Cluster
	cloud     *fakegce.Server
	slurmctld *slurmctld

	running sync.WaitGroup
	close   []func()
}

// models are the models of a world. Calls to Compute pass through front; nil: directly.
type models struct {
	slurm  fakeslurm.Options
	cloud  fakegce.Options
	front  func(http.Handler) http.Handler
	config func(*world) string // returns the text of slurmflex's configuration
}

// idleTime is how long Compute keeps an unused connection. It is shorter than the time for which
// the soak leaves the daemon alone before a sample, so that the sample counts only connections that
// the daemon itself keeps.
const idleTime = time.Second

// start fills a world with an existing, empty folder. The machines of its cloud run the slurmds of
// its Slurm's nodes.
func (w *world) start(dir string, m models) {
	w.dir = dir
	now := m.slurm.Now
	if now == nil {
		now = time.Now
	}
	m.cloud.OnBoot = func(in fakegce.Instance) { w.slurm.Register(in.Name, now()) }
	m.cloud.OnDelete = func(in fakegce.Instance) { w.slurm.Silence(in.Name) }
	w.cloud, w.slurm = fakegce.New(m.cloud), fakeslurm.New(m.slurm)
	w.slurmctld = &slurmctld{model: w.slurm, now: now}
	for _, folder := range []string{"bin", "run"} {
		must.Do(os.Mkdir(w.path(folder), 0o700))
	}
	commands := must.Get(net.Listen("tcp", "127.0.0.1:0"))
	w.running.Go(func() { w.slurmctld.serve(commands) })
	w.close = append(w.close, func() { commands.Close() })
	must.Do(writeCommands(w.path("bin"), commands.Addr()))
	compute := must.Get(net.Listen("tcp", "127.0.0.1:0"))
	server := &http.Server{Handler: w.cloud, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: idleTime}
	if m.front != nil {
		server.Handler = m.front(w.cloud)
	}
	w.running.Go(func() { _ = server.Serve(compute) })
	w.close = append(w.close, func() { server.Close() })
	w.endpoint, w.page = "http://"+compute.Addr().String(), freeAddress()
	must.Do(os.WriteFile(w.path("config.yaml"), []byte(m.config(w)), 0o600))
}

// shut stops everything that start has started.
func (w *world) shut() {
	for _, end := range w.close {
		end()
	}
	w.running.Wait()
}

func (w *world) path(name string) string { return filepath.Join(w.dir, name) }

// wakeUp sends a wake-up to the daemon, which may be too busy to accept it.
func (w *world) wakeUp(ctx context.Context, h wake.Call) error {
	return wake.Send(ctx, wake.SocketPath(w.path("run")), h)
}

// freeAddress returns an address on which no process listens at the moment.
func freeAddress() string {
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))
	must.Do(listener.Close())
	return listener.Addr().String()
}

// daemon is slurmflex's daemon in a process of its own, so that its resource use can be told apart
// from the models'.
type daemon struct {
	cmd *exec.Cmd
	log *os.File
}

// startDaemon runs a daemon until it is stopped or ctx ends. The log is in the world's folder.
func (w *world) startDaemon(cmd *exec.Cmd) *daemon {
	d := &daemon{cmd: cmd, log: must.Get(os.Create(w.path("daemon.log")))}
	cmd.Stderr = d.log
	cmd.Cancel = func() error { return cmd.Process.Signal(unix.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	must.Do(cmd.Start())
	return d
}

func (d *daemon) pid() int { return d.cmd.Process.Pid }

// stop ends the process and waits for it.
func (d *daemon) stop() error {
	defer d.log.Close()
	if err := d.cmd.Process.Signal(unix.SIGTERM); err != nil {
		return err
	}
	if err := d.cmd.Wait(); err != nil {
		return fmt.Errorf("the daemon (log: %s): %w", d.log.Name(), err)
	}
	return nil
}
