package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"slurmflex/flex"
	"slurmflex/mig"
	"slurmflex/test/must"
)

// The steady cluster: 5,000 nodes, of which 4,000 run 1,000 jobs, 200 wait for
// 20 requests, and the others are powered down.
const (
	steadyNodes = 5_000
	steadyJobs  = 1_000
	steadySize  = 4
	waitingJobs = 20
	waitingSize = 10
	page        = 500 // results a page, the most that Compute gives
)

// A steady pass reads the pages of groups and instances, and each request
// that waits.
const steadyCalls = (steadyJobs+waitingJobs+page-1)/page + (steadyJobs*steadySize+page-1)/page + waitingJobs

// Passes that a daemon makes before it is measured: the first read what later
// ones know. And those that are measured.
const (
	warmPasses     = 3
	measuredPasses = 9
)

// steadyPass has a new daemon reconcile over the steady cluster, in which
// nothing is to be done in the cloud.
func (b *bench) steadyPass(ctx context.Context) []row {
	h := b.newHost(setting{nodes: steadyNodes, rate: 500, interval: time.Hour, room: steadyJobs * steadySize})
	defer h.end()
	h.begin(ctx)
	h.fill(ctx)
	must.Do(h.daemon.stop())
	h.begin(ctx)
	var took []time.Duration
	for i := range warmPasses + measuredPasses {
		if i == warmPasses {
			h.cloud.ResetCalls()
		}
		before := cpuTime(clockOf(h.daemon.pid()))
		h.pass(ctx)
		took = append(took, cpuTime(clockOf(h.daemon.pid()))-before)
	}
	calls := h.cloud.Counts()
	if n := changes(calls); n > 0 {
		must.Do(fmt.Errorf("passes over a steady cluster changed something: %v", calls))
	}
	return []row{
		measured("steady pass, 5,000 nodes, 1,020 groups: CPU", float64(median(took[warmPasses:]))/millisecond, "ms CPU", 500),
		measured("steady pass: memory of the process", mostMemory(h.daemon.pid()), "MiB", 120),
		measured("steady pass: API calls, pages and waiting requests only", float64(total(calls))/measuredPasses, "calls", steadyCalls),
	}
}

// fill brings the steady cluster about.
func (h *host) fill(ctx context.Context) {
	jobs := h.submit(steadyJobs, steadySize)
	h.await(ctx, "all jobs to run", func() bool { return h.allRun(jobs) })
	h.submit(waitingJobs, waitingSize)
	h.await(ctx, "requests to wait", func() bool { return h.requests(mig.Accepted) == waitingJobs })
	for range 3 { // what is left to be done, such as reservations
		h.pass(ctx)
	}
}

// pass has the daemon make a pass, and returns when it has long been at rest.
func (h *host) pass(ctx context.Context) {
	looks := h.slurmctld.looks.Load()
	err := h.wakeUp(ctx, flex.WakeUp{Verb: "resume"})
	if !errors.As(err, new(flex.UnreceiptedError)) { // a late one was told
		must.Do(err)
	}
	h.await(ctx, "a pass", func() bool { return h.slurmctld.looks.Load() > looks })
	h.awaitRest(ctx, "the end of a pass", time.Second)
}

// clockOf is the clock of the processors' time of a process, garbage collection
// included, as clock_getcpuclockid says it.
func clockOf(pid int) int32 { return int32(^pid<<3 | 2) }

// cpuTime is the time of processors that a thread, or a process, has had so far,
// in the kernel and outside of it. Unlike getrusage's, it is exact to less than
// a tick.
func cpuTime(clock int32) time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(clock, &t); err != nil {
		panic(err) // it fails for wrong arguments only
	}
	return time.Duration(t.Nano())
}

// mostMemory is the maximum resident set of a process, in MiB.
func mostMemory(pid int) float64 {
	_, rest, _ := strings.Cut(string(must.Get(os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)))), "\nVmHWM:")
	var kib float64
	must.Get(fmt.Sscanf(rest, "%g kB", &kib))
	return kib / 1024
}
