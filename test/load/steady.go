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

// steadyRound has a new daemon reconcile over the steady cluster, in which
// nothing is to be done in the cloud.
func (b *bench) steadyPass(ctx context.Context) ([]row, error) {
	h, err := b.newHostWithDaemon(ctx, setting{nodes: steadyNodes, rate: 500, interval: time.Hour, room: steadyJobs * steadySize})
	if err != nil {
		return nil, err
	}
	defer h.end()
	if err := h.fill(ctx); err != nil {
		return nil, fmt.Errorf("set the cluster up: %w", err)
	}
	if err := h.daemon.stop(); err != nil {
		return nil, err
	}
	if err := h.begin(ctx); err != nil {
		return nil, err
	}
	var took []time.Duration
	for i := range warmPasses + measuredPasses {
		if i == warmPasses {
			h.cloud.ResetCalls()
		}
		before := cpuTime(clockOf(h.daemon.pid()))
		if err := h.pass(ctx); err != nil {
			return nil, err
		}
		took = append(took, cpuTime(clockOf(h.daemon.pid()))-before)
	}
	calls := h.cloud.Counts()
	if n := changes(calls); n > 0 {
		return nil, fmt.Errorf("passes over a steady cluster changed something: %v", calls)
	}
	memory, err := mostMemory(h.daemon.pid())
	return []row{
		measured("steady pass, 5,000 nodes, 1,020 groups: CPU", float64(median(took[warmPasses:]))/millisecond, "ms CPU", 500),
		measured("steady pass: memory of the process", float64(memory)/mebibyte, "MiB", 120),
		measured("steady pass: API calls, pages and waiting requests only", float64(total(calls))/measuredPasses, "calls", steadyCalls),
	}, err
}

// fill brings the steady cluster about.
func (h *host) fill(ctx context.Context) error {
	jobs, err := h.submit(steadyJobs, steadySize)
	if err != nil {
		return err
	}
	if err := h.await(ctx, "all jobs to run", func() bool { return h.allRun(jobs) }); err != nil {
		return err
	}
	if _, err := h.submit(waitingJobs, waitingSize); err != nil {
		return err
	}
	if err := h.await(ctx, "requests to wait", func() bool { return h.requests(mig.Accepted) == waitingJobs }); err != nil {
		return err
	}
	for range 3 { // what is left to be done, such as reservations
		if err := h.pass(ctx); err != nil {
			return err
		}
	}
	return nil
}

// pass has the daemon make a pass, and returns when it has long been at rest.
func (h *host) pass(ctx context.Context) error {
	looks, calls, since := h.slurmctld.looks.Load(), 0, time.Now()
	err := h.wakeUp(ctx, flex.WakeUp{Verb: "resume"})
	if late := (flex.UnreceiptedError{}); err != nil && !errors.As(err, &late) { // a late one was told
		return err
	}
	return h.await(ctx, "a pass", func() bool {
		if now := total(h.cloud.Counts()); now != calls {
			calls, since = now, time.Now()
		}
		return h.slurmctld.looks.Load() > looks && time.Since(since) > time.Second
	})
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

// mostMemory is the maximum resident set of a process, in bytes.
func mostMemory(pid int) (int64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(status), "\nVmHWM:")
	var kib int64
	if _, err := fmt.Sscanf(rest, "%d kB", &kib); err != nil {
		return 0, fmt.Errorf("VmHWM of process %d: %w", pid, err)
	}
	return kib << 10, nil
}
