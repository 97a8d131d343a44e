package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"slurmflex/flex/wake"
	"slurmflex/slurm"
	"slurmflex/test/bench/site"
	"slurmflex/test/must"
)

// The steady cluster: of 5,000 nodes, 4,000 run 1,000 jobs, 200 wait for 20 requests, and the
// others are powered down.
const (
	steadyNodes = 5_000
	steadyJobs  = 1_000
	steadySize  = 4
	waitingJobs = 20
	waitingSize = 10
	page        = 500 // results per page, Compute's maximum
)

// A steady pass reads the pages of groups and instances, and each waiting request.
const steadyCalls = (steadyJobs+waitingJobs+page-1)/page + (steadyJobs*steadySize+page-1)/page + waitingJobs

// The unmeasured first passes of a daemon, which fill its caches; and the measured passes of the
// steady cluster and of the wide cluster.
const (
	warmPasses     = 3
	measuredPasses = 9
	wideMeasured   = 3
)

// steadyPass measures a daemon's passes over the steady cluster.
func (b *bench) steadyPass(ctx context.Context) []row {
	s := b.steady(ctx, 1, measuredPasses)
	return []row{
		{"steady pass, 5,000 nodes, 1,020 groups: CPU", s.cpu, "ms CPU", 200},
		{"steady pass: memory of the process", s.memory, "MiB", 110},
		{"steady pass: API calls, pages and waiting requests only", s.calls, "calls", steadyCalls},
		{"steady pass: answers of Compute, compressed", s.sent, "MiB", 0.3},
	}
}

// wideRegions is the number of regions of the site in docs/dev/testing.md. Each region is as large as the
// steady cluster.
const wideRegions = 10

// widePass measures a daemon's passes over ten steady clusters in ten regions.
func (b *bench) widePass(ctx context.Context) []row {
	s := b.steady(ctx, wideRegions, wideMeasured)
	return []row{
		{"pass over 50,000 nodes in 10 regions, 10,200 groups: CPU", s.cpu, "ms CPU", 5000},
		{"the same: memory of the process", s.memory, "MiB", 1024},
		{"the same: API calls", s.calls, "calls", wideRegions * steadyCalls},
		{"the same: answers of Compute, compressed", s.sent, "MiB", 3},
	}
}

// steadily is the cost of a steady pass.
type steadily struct {
	cpu, memory, calls, sent float64 // in ms, MiB, calls and MiB
}

// steady measures a new daemon's passes over one steady cluster per region. The passes change
// nothing in the cloud.
func (b *bench) steady(ctx context.Context, regions, passes int) steadily {
	var sent atomic.Int64
	h := b.newHost(setting{
		nodes: steadyNodes, regions: regions, interval: time.Hour, room: steadyJobs * steadySize,
		front: func(next http.Handler) http.Handler { return counting(next, &sent) },
	})
	defer h.end()
	h.begin(ctx)
	h.fill(ctx, regions)
	must.Do(h.stop())
	h.begin(ctx)
	var took []time.Duration
	for i := range warmPasses + passes {
		if i == warmPasses {
			h.cloud.ResetCalls()
			sent.Store(0)
		}
		before := cpuTime(clockOf(h.daemon.Process.Pid))
		h.pass(ctx)
		took = append(took, cpuTime(clockOf(h.daemon.Process.Pid))-before)
	}
	calls := h.cloud.Counts()
	if n := changes(calls); n > 0 {
		must.Do(fmt.Errorf("passes over a steady cluster changed something: %v", calls))
	}
	return steadily{
		float64(median(took[warmPasses:])) / millisecond, mostMemory(h.daemon.Process.Pid),
		float64(total(calls)) / float64(passes), float64(sent.Load()) / float64(passes) / mebibyte,
	}
}

// counting adds up the bytes of the bodies in next's answers.
func counting(next http.Handler, sent *atomic.Int64) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(&countedWriter{w, sent}, r)
	})
}

type countedWriter struct {
	http.ResponseWriter
	sent *atomic.Int64
}

func (w *countedWriter) Write(text []byte) (int, error) {
	n, err := w.ResponseWriter.Write(text)
	w.sent.Add(int64(n))
	return n, err
}

// changes counts the calls that modify the cloud.
func changes(calls map[string]int) (n int) {
	for method, times := range calls {
		switch _, verb, _ := strings.Cut(method, "."); verb {
		case "get", "list", "aggregatedList", "listManagedInstances", "wait":
		default:
			n += times
		}
	}
	return n
}

// total counts all calls.
func total(calls map[string]int) (n int) {
	for _, times := range calls {
		n += times
	}
	return n
}

// submitTo submits n jobs and gives each of them size powered-down nodes.
func (h *host) submitTo(partition string, n, size int) (jobs []uint32) {
	for range n {
		jobs = append(jobs, must.Get(h.slurm.Submit(jobOf(partition, size, site.Limit))))
	}
	return jobs
}

// fill creates the steady cluster in each region, one region after the other, so that not all
// regions wait for operations at once.
func (h *host) fill(ctx context.Context, regions int) {
	for i, p := range site.Places(regions) {
		jobs := h.submitTo(p.Partition, steadyJobs, steadySize)
		h.await(ctx, "all jobs to run", func() bool {
			return !slices.ContainsFunc(jobs, func(id uint32) bool { return h.slurm.JobState(id) != slurm.JobRunning })
		})
		h.submitTo(p.Partition, waitingJobs, waitingSize)
		h.await(ctx, "requests to wait", func() bool { return len(h.waiting()) == (i+1)*waitingJobs })
	}
	for range 3 { // remaining actions, such as reservations
		h.pass(ctx)
	}
}

// pass makes the daemon run a pass, and returns when the daemon has long been at rest.
func (h *host) pass(ctx context.Context) {
	looks := h.slurmctld.looks.Load()
	must.Do(h.wakeUp(ctx, wake.Call{Verb: "resume"}))
	h.await(ctx, "a pass", func() bool { return h.slurmctld.looks.Load() > looks })
	calls, since := 0, time.Now()
	h.await(ctx, "the end of a pass", func() bool {
		if now := total(h.cloud.Counts()); now != calls {
			calls, since = now, time.Now()
		}
		return time.Since(since) > time.Second
	})
}

// clockOf returns the CPU-time clock of a process, as defined by clock_getcpuclockid. It includes
// garbage collection.
func clockOf(pid int) int32 { return int32(^pid<<3 | 2) }

// cpuTime returns the CPU time of a thread or a process so far, in user mode and in the kernel.
// Unlike getrusage's, it is more precise than a tick.
func cpuTime(clock int32) time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(clock, &t); err != nil {
		panic(err) // it fails only for wrong arguments
	}
	return time.Duration(t.Nano())
}

// mostMemory returns the maximum resident set of a process, in MiB.
func mostMemory(pid int) float64 {
	_, rest, _ := strings.Cut(must.Text(fmt.Sprintf("/proc/%d/status", pid)), "\nVmHWM:")
	var kib float64
	must.Get(fmt.Sscanf(rest, "%g kB", &kib))
	return kib / 1024
}
