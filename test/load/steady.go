package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"slurmflex/flex/wake"
	"slurmflex/slurm"
	"slurmflex/test/bench/site"
	"slurmflex/test/must"
)

// A steady cluster: of 5,000 nodes, 4,000 run 1,000 jobs, 200 wait for 20 requests, and the
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

// The unmeasured first passes of a daemon, which fill its caches, and the measured passes.
const (
	warmPasses     = 3
	measuredPasses = 3
)

// wideRegions is the number of regions of the site in docs/dev/testing.md. Each region is as large as the
// steady cluster.
const wideRegions = 10

// widePass measures a new daemon's passes over ten steady clusters in ten regions. The passes change
// nothing in the cloud.
func (b *bench) widePass(ctx context.Context) []row {
	h := b.newHost(setting{nodes: steadyNodes, regions: wideRegions, interval: time.Hour, room: steadyJobs * steadySize})
	defer h.end()
	h.begin(ctx)
	h.fill(ctx, wideRegions)
	must.Do(h.stop())
	h.begin(ctx)
	var took []time.Duration
	for i := range warmPasses + measuredPasses {
		if i == warmPasses {
			h.cloud.ResetCalls()
		}
		before := cpuTime(h.daemon.Process.Pid)
		h.pass(ctx)
		took = append(took, cpuTime(h.daemon.Process.Pid)-before)
	}
	calls := h.cloud.Counts()
	if n := changes(calls); n > 0 {
		must.Do(fmt.Errorf("passes over a steady cluster changed something: %v", calls))
	}
	return []row{
		{"pass over 50,000 nodes in 10 regions, 10,200 groups: CPU", float64(median(took[warmPasses:])) / millisecond, "ms CPU", 5000},
		{"the same: memory of the process", mostMemory(h.daemon.Process.Pid), "MiB", 1024},
		{"the same: API calls, pages and waiting requests only", float64(total(calls)) / measuredPasses, "calls", wideRegions * steadyCalls},
	}
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

// cpuTime returns the CPU time of a process so far, in user mode and in the kernel, with garbage
// collection. Unlike getrusage's, it is more precise than a tick. Its clock is that of
// clock_getcpuclockid.
func cpuTime(pid int) time.Duration {
	var t unix.Timespec
	must.Do(unix.ClockGettime(int32(^pid<<3|2), &t))
	return time.Duration(t.Nano())
}

// mostMemory returns the maximum resident set of a process, in MiB.
func mostMemory(pid int) float64 {
	_, rest, _ := strings.Cut(string(must.Get(os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)))), "\nVmHWM:")
	var kib float64
	must.Get(fmt.Sscanf(rest, "%g kB", &kib))
	return kib / 1024
}
