package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"slurmflex/flex"
	"slurmflex/mig"
	"slurmflex/test/bench/site"
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
// ones know. And those that are measured, of the steady cluster and of the wide one.
const (
	warmPasses     = 3
	measuredPasses = 9
	wideMeasured   = 3
)

// steadyPass has a daemon reconcile over the steady cluster.
func (b *bench) steadyPass(ctx context.Context) []float64 {
	s := b.steady(ctx, 1, measuredPasses)
	return []float64{s.cpu, s.memory, s.calls, s.sent}
}

// wideRegions are those of the site in docs/scale.md, each of which is as large as the
// steady cluster.
const wideRegions = 10

// widePass has a daemon reconcile over the steady cluster ten times, in ten regions.
func (b *bench) widePass(ctx context.Context) []float64 {
	s := b.steady(ctx, wideRegions, wideMeasured)
	return []float64{s.cpu, s.memory, s.calls, s.sent}
}

// steadily is what a steady pass takes.
type steadily struct {
	cpu, memory, calls, sent float64 // in ms, MiB, calls and MiB
}

// steady has a new daemon reconcile over the steady cluster, in which nothing is to be
// done in the cloud, or over as many of it as there are regions.
func (b *bench) steady(ctx context.Context, regions, passes int) steadily {
	var sent atomic.Int64
	h := b.newHost(setting{
		nodes: steadyNodes, regions: regions, rate: 1000, interval: time.Hour, room: steadyJobs * steadySize,
		front: func(next http.Handler) http.Handler { return counting(next, &sent) },
	})
	defer h.end()
	h.begin(ctx)
	h.fill(ctx, regions)
	must.Do(h.daemon.stop())
	h.begin(ctx)
	var took []time.Duration
	for i := range warmPasses + passes {
		if i == warmPasses {
			h.cloud.ResetCalls()
			sent.Store(0)
		}
		before := cpuTime(clockOf(h.daemon.pid()))
		h.pass(ctx)
		took = append(took, cpuTime(clockOf(h.daemon.pid()))-before)
	}
	calls := h.cloud.Counts()
	if n := changes(calls); n > 0 {
		must.Do(fmt.Errorf("passes over a steady cluster changed something: %v", calls))
	}
	return steadily{
		float64(median(took[warmPasses:])) / millisecond, mostMemory(h.daemon.pid()),
		float64(total(calls)) / float64(passes), float64(sent.Load()) / float64(passes) / mebibyte,
	}
}

// counting adds up the bytes of the bodies that next answers with.
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

// fill brings the steady cluster about in each region, one after the other, so that
// not all wait for operations at once.
func (h *host) fill(ctx context.Context, regions int) {
	for i, p := range site.Places(regions) {
		jobs := h.submitTo(p.Partition, steadyJobs, steadySize, site.Limit)
		h.await(ctx, "all jobs to run", func() bool { return h.allRun(jobs) })
		h.submitTo(p.Partition, waitingJobs, waitingSize, site.Limit)
		h.await(ctx, "requests to wait", func() bool { return h.requests(mig.Accepted) == (i+1)*waitingJobs })
	}
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
