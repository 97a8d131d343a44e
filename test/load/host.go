package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"slurmflex/flex/wake"
	"slurmflex/slurm"
	"slurmflex/test/bench/site"
	"slurmflex/test/fakegce"
	"slurmflex/test/fakeslurm"
	"slurmflex/test/lab"
	"slurmflex/test/must"
)

// bench is one run of the trials.
type bench struct {
	build   string // folder of the built programs; absolute
	scripts string // folder of the hooks' wrappers; absolute
	dir     string // a temporary folder
}

// host is the world of a trial: a cluster of package site with a slurmctld whose hooks wake the daemon,
// the Compute API, and the host on which the daemon runs.
type host struct {
	*bench
	dir       string // the host's folder
	page      string // host:port of the daemon's page
	slurm     *fakeslurm.Cluster
	cloud     *fakegce.Server
	slurmctld *slurmctld
	commands  net.Listener
	compute   *httptest.Server
	running   sync.WaitGroup
	daemon    *exec.Cmd // nil: not running
}

// setting configures a trial's host.
type setting struct {
	nodes    int           // per region
	regions  int           // 0: one
	interval time.Duration // between the daemon's own passes
	attempts time.Duration // between a request's attempts; 0: as by default
	room     int           // machines per region; 0: enough for all
	front    func(http.Handler) http.Handler
}

// idleTime is how long Compute keeps an unused connection. It is shorter than the time for which
// the soak leaves the daemon alone before a sample, so that the sample counts only connections that
// the daemon itself keeps.
const idleTime = time.Second

// newHost creates a host without a daemon. The machines of its cloud run the slurmds of its Slurm's nodes.
func (b *bench) newHost(s setting) *host {
	h := &host{bench: b, dir: must.Get(os.MkdirTemp(b.dir, "host-")), page: freeAddress()}
	places := site.Places(cmp.Or(s.regions, 1))
	o := fakeslurm.Options{
		ResumeTimeout: 18 * time.Hour, SuspendTimeout: 5 * time.Second, SlurmdTimeout: 10 * time.Second,
		Resume:  func(nodes []string, _ []uint32) { h.hook("resume", nodes) },
		Suspend: func(nodes []string) { h.hook("suspend", nodes) },
	}
	c := fakegce.Options{
		Project: site.Project, OperationTime: time.Second, AttemptInterval: s.attempts,
		OnBoot:   func(in fakegce.Instance) { h.slurm.Register(in.Name, time.Now()) },
		OnDelete: func(in fakegce.Instance) { h.slurm.Silence(in.Name) },
	}
	for _, p := range places {
		own := p.Nodes(0, s.nodes)
		o.Nodes = append(o.Nodes, own...)
		o.Partitions = append(o.Partitions, slurm.Partition{Name: p.Partition, Nodes: own, Exclusive: true, PowerDownOnIdle: true})
		c.Zones = append(c.Zones, p.Zone)
	}
	h.cloud, h.slurm = fakegce.New(c), fakeslurm.New(o)
	h.serve(s.front)
	for _, p := range places {
		must.Get(h.cloud.AddTemplate(p.Region, fakegce.FlexTemplate(site.NodeSet, site.Machine)))
		must.Do(h.cloud.SetQuota(p.Region, "ACTIVE_RESIZE_REQUESTS", site.ActiveRequests))
		if s.room != 0 {
			h.cloud.SetCapacity(p.Zone, site.Machine, s.room)
		}
	}
	must.Do(os.WriteFile(h.path("config.yaml"), []byte(site.TextOf(places, s.nodes, fmt.Sprintf("  waiting: configuring\n  interval: %s\n  api_calls_per_second: 1000\n"+
		"  compute_endpoint: %s\n  run_dir: %s\n  state_dir: %s\n  log_file: %s\n  http_address: %s\nslurm_bin_dir: %s\n",
		s.interval, h.compute.URL, h.path("run"), h.path("history"), h.path("slurmflex.log"), h.page, h.path("bin")))), 0o600))
	return h
}

// serve starts the servers of Slurm's commands and of Compute, whose calls pass through front.
func (h *host) serve(front func(http.Handler) http.Handler) {
	for _, folder := range []string{"bin", "run"} {
		must.Do(os.Mkdir(h.path(folder), 0o700))
	}
	h.slurmctld, h.commands = &slurmctld{model: h.slurm}, must.Get(net.Listen("tcp", "127.0.0.1:0"))
	h.running.Go(func() { h.slurmctld.serve(h.commands) })
	must.Do(writeCommands(h.path("bin"), h.commands.Addr()))
	h.compute = httptest.NewUnstartedServer(h.cloud)
	if front != nil {
		h.compute.Config.Handler = front(h.cloud)
	}
	h.compute.Config.IdleTimeout = idleTime
	h.compute.Start()
}

func (h *host) path(name string) string { return filepath.Join(h.dir, name) }

// begin starts a daemon and returns after its first pass. Its log is in the host's folder.
func (h *host) begin(ctx context.Context) {
	h.cloud.ResetCalls()
	log := must.Get(os.Create(h.path("daemon.log")))
	defer log.Close()
	h.daemon = exec.CommandContext(ctx, filepath.Join(h.build, "slurmflex"), "daemon", "--config", h.path("config.yaml"))
	h.daemon.Env = []string{"SLURM_CONF=" + h.path("slurm.conf")}
	h.daemon.Stderr = log
	h.daemon.Cancel = func() error { return h.daemon.Process.Signal(unix.SIGTERM) }
	h.daemon.WaitDelay = 10 * time.Second
	must.Do(h.daemon.Start())
	h.await(ctx, "the first pass", func() bool { return h.cloud.Counts()["instances.list"] > 0 })
}

// stop ends the daemon and waits for it.
func (h *host) stop() error {
	daemon := h.daemon
	h.daemon = nil
	return errors.Join(daemon.Process.Signal(unix.SIGTERM), daemon.Wait())
}

// end stops the host completely.
func (h *host) end() {
	if h.daemon != nil {
		_ = h.stop() // its work was already measured
	}
	h.commands.Close()
	h.compute.Close()
	h.running.Wait()
}

// wakeUp sends a wake-up to the daemon. The daemon has got a wake-up without a receipt, too.
func (h *host) wakeUp(ctx context.Context, call wake.Call) error {
	err := wake.Send(ctx, wake.SocketPath(h.path("run")), call)
	if errors.As(err, new(wake.UnreceiptedError)) {
		return nil
	}
	return err
}

// hook is Slurm's call of one of the programs. It tries again while the daemon does not listen.
func (h *host) hook(verb string, nodes []string) {
	h.running.Go(func() {
		_ = lab.Until(context.Background(), 10*time.Second, "the daemon to listen", func() (bool, error) {
			err := h.wakeUp(context.Background(), wake.Call{Verb: verb, Nodes: slurm.Fold(nodes)})
			return err == nil, err
		})
	})
}

// freeAddress returns an address on which no process listens at the moment.
func freeAddress() string {
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))
	must.Do(listener.Close())
	return listener.Addr().String()
}

// jobOf returns a job of some nodes that runs for a time.
func jobOf(partition string, nodes int, run time.Duration) fakeslurm.JobSpec {
	return fakeslurm.JobSpec{Partition: partition, Nodes: nodes, Limit: site.Limit, Run: run, User: "ada"}
}

// The interval between checks of a condition, which limits the precision of times; and the interval
// of slurmctld's main loop, one second.
const (
	pollPace = 25 * time.Millisecond
	loopPace = 500 * time.Millisecond
)

// await lets time pass until a condition holds, for a few minutes at most.
func (h *host) await(ctx context.Context, what string, holds func() bool) {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Minute)
	defer cancel()
	for stepped := (time.Time{}); !holds(); {
		if time.Since(stepped) > loopPace {
			h.slurm.Step()
			stepped = time.Now()
		}
		select {
		case <-ctx.Done():
			must.Do(fmt.Errorf("waiting for %s: %w", what, context.Cause(ctx)))
		case <-time.After(pollPace):
		}
	}
}

// waiting returns the requests that wait for capacity, as group and request.
func (h *host) waiting() (all [][2]string) {
	for _, g := range h.cloud.State().Groups {
		for _, r := range g.Requests {
			if r.State == "ACCEPTED" {
				all = append(all, [2]string{g.Name, r.Name})
			}
		}
	}
	return all
}
