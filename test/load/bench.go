package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"slurmflex/mig"
	"slurmflex/slurm"
	"slurmflex/test/bench/site"
	"slurmflex/test/fakegce"
	"slurmflex/test/fakeslurm"
	"slurmflex/test/must"
)

// bench is one run of the trials.
type bench struct {
	build   string // folder of the built programs; absolute
	scripts string // folder of the hooks' wrappers; absolute
	dir     string // a temporary folder
}

// host is the world of a trial: a cluster of package site with a slurmctld that calls the real
// hooks.
type host struct {
	world
	*bench
	daemon *daemon // nil: not running
	deaf   atomic.Bool
	failed atomic.Pointer[error] // of a hook
}

// setting configures a trial's host.
type setting struct {
	nodes    int           // per region
	regions  int           // 0: one
	rate     int           // the daemon's calls per second
	interval time.Duration // between the daemon's own passes
	cloud    fakegce.Options
	room     int // machines per region; 0: enough for all
	front    func(http.Handler) http.Handler
}

// usualRate is the default rate of slurmflex's calls per second.
const usualRate = 20

// newHost creates a host without a daemon.
func (b *bench) newHost(s setting) *host {
	h := &host{bench: b}
	places := site.Places(s.regions)
	var nodes []string
	var partitions []slurm.Partition
	for _, p := range places {
		own := p.Nodes(0, s.nodes)
		nodes = append(nodes, own...)
		partitions = append(partitions, slurm.Partition{Name: p.Partition, Nodes: own, Exclusive: true, PowerDownOnIdle: true})
		s.cloud.Zones = append(s.cloud.Zones, p.Zone)
	}
	s.cloud.Project, s.cloud.OperationTime = site.Project, time.Second
	h.start(must.Get(os.MkdirTemp(b.dir, "host-")), models{
		slurm: fakeslurm.Options{
			Nodes: nodes, Partitions: partitions,
			ResumeTimeout: 18 * time.Hour, SuspendTimeout: 10 * time.Minute,
			Resume:  func(nodes []string, jobs []uint32) { h.hook(nodes, jobs) },
			Suspend: func(nodes []string) { h.hook(nodes, nil) },
		},
		cloud: s.cloud, front: s.front,
		config: func(w *world) string {
			return site.TextOf(places, s.nodes, fmt.Sprintf("  waiting: configuring\n  interval: %s\n  api_calls_per_second: %d\n  compute_endpoint: %s\n  run_dir: %s\n  state_dir: %s\n"+
				"  log_file: %s\n  http_address: %s\nslurm_bin_dir: %s\n",
				s.interval, s.rate, w.endpoint, w.path("run"), w.path("history"), w.path("slurmflex.log"), w.page, w.path("bin")))
		},
	})
	for name, from := range map[string]string{"resume": b.scripts, "slurmflex-hook": b.build, "slurmflex": b.build} {
		must.Do(os.Symlink(filepath.Join(from, name), h.path(name)))
	}
	for _, p := range places {
		must.Get(h.cloud.AddTemplate(p.Region, fakegce.FlexTemplate(site.NodeSet, site.Machine)))
		must.Do(h.cloud.SetQuota(p.Region, "ACTIVE_RESIZE_REQUESTS", site.ActiveRequests))
		if s.room != 0 {
			h.cloud.SetCapacity(p.Zone, site.Machine, s.room)
		}
	}
	return h
}

// begin starts a daemon and returns after its first pass.
func (h *host) begin(ctx context.Context) {
	h.cloud.ResetCalls()
	cmd := exec.CommandContext(ctx, filepath.Join(h.build, "slurmflex"), "daemon", "--config", h.path("config.yaml"))
	cmd.Env = []string{"SLURM_CONF=" + h.path("slurm.conf")}
	h.daemon = h.startDaemon(cmd)
	h.await(ctx, "the first pass", func() bool { return h.cloud.Counts()["instances.list"] > 0 })
}

// end stops the host completely.
func (h *host) end() {
	if h.daemon != nil {
		_ = h.daemon.stop() // its work was already measured
	}
	h.shut()
}

// submitTo submits n jobs and gives each of them size powered-down nodes.
func (h *host) submitTo(partition string, n, size int) (jobs []uint32) {
	for range n {
		spec := fakeslurm.JobSpec{Partition: partition, Nodes: size, Limit: site.Limit, Run: site.Limit, User: "ada"}
		jobs = append(jobs, must.Get(h.slurm.Submit(spec)))
	}
	return jobs
}

// hook is slurmctld's call of a program. The daemon handles a call for suspended nodes like one for
// resumed nodes: it starts a pass.
func (h *host) hook(nodes []string, ids []uint32) {
	if h.deaf.Load() || h.daemon == nil {
		return
	}
	err := must.Try(func() {
		jobs := must.Get(h.slurm.Jobs(context.Background()))
		jobs = slices.DeleteFunc(jobs, func(j slurm.Job) bool { return !slices.Contains(ids, j.ID) })
		must.Do(h.call(context.Background(), nodes, jobs).Run())
	})
	if err != nil {
		h.failed.Store(&err)
	}
}

// call prepares a call of slurm.conf's ResumeProgram for these jobs and nodes, as slurmctld makes
// it.
func (h *host) call(ctx context.Context, nodes []string, jobs []slurm.Job) *exec.Cmd {
	must.Do(os.WriteFile(h.path("resume.json"), site.ResumeFile(jobs), 0o600))
	cmd := exec.CommandContext(ctx, h.path("resume"), slurm.Fold(nodes))
	cmd.Env = []string{"SLURM_CONF=" + h.path("slurm.conf"), "SLURM_RESUME_FILE=" + h.path("resume.json")}
	cmd.Stderr = os.Stderr
	return cmd
}

// The interval between checks of a condition, which limits the precision of times; and the interval
// of slurmctld's main loop, one second.
const (
	pollPace = 25 * time.Millisecond
	stepPace = 500 * time.Millisecond
)

// await lets time pass until a condition holds, for a few minutes at most.
func (h *host) await(ctx context.Context, what string, holds func() bool) {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Minute)
	defer cancel()
	for stepped := (time.Time{}); ; {
		if time.Since(stepped) > stepPace {
			h.slurm.Step()
			stepped = time.Now()
		}
		if err := h.failed.Load(); err != nil {
			must.Do(*err)
		}
		if holds() {
			return
		}
		select {
		case <-ctx.Done():
			must.Do(fmt.Errorf("waiting for %s: %w", what, context.Cause(ctx)))
		case <-time.After(pollPace):
		}
	}
}

// awaitRest waits until the cloud has received no calls for the given time.
func (h *host) awaitRest(ctx context.Context, what string, rest time.Duration) {
	calls, since := 0, time.Now()
	h.await(ctx, what, func() bool {
		if now := total(h.cloud.Counts()); now != calls {
			calls, since = now, time.Now()
		}
		return time.Since(since) > rest
	})
}

// requests counts the requests in a state.
func (h *host) requests(state mig.RequestState) (n int) {
	for _, g := range h.cloud.State().Groups {
		for _, r := range g.Requests {
			if r.State == string(state) {
				n++
			}
		}
	}
	return n
}

func (h *host) allRun(jobs []uint32) bool {
	return !slices.ContainsFunc(jobs, func(id uint32) bool { return h.slurm.JobState(id) != slurm.JobRunning })
}
