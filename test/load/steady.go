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

	"slurmflex/flex/wake"
	"slurmflex/mig"
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
func (b *bench) steadyPass(ctx context.Context) []float64 {
	s := b.steady(ctx, 1, measuredPasses)
	return []float64{s.cpu, s.memory, s.calls, s.sent}
}

// wideRegions is the number of regions of the site in docs/dev/testing.md. Each region is as large as the
// steady cluster.
const wideRegions = 10

// widePass measures a daemon's passes over ten steady clusters in ten regions.
func (b *bench) widePass(ctx context.Context) []float64 {
	s := b.steady(ctx, wideRegions, wideMeasured)
	return []float64{s.cpu, s.memory, s.calls, s.sent}
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

// fill creates the steady cluster in each region, one region after the other, so that not all
// regions wait for operations at once.
func (h *host) fill(ctx context.Context, regions int) {
	for i, p := range site.Places(regions) {
		jobs := h.submitTo(p.Partition, steadyJobs, steadySize)
		h.await(ctx, "all jobs to run", func() bool { return h.allRun(jobs) })
		h.submitTo(p.Partition, waitingJobs, waitingSize)
		h.await(ctx, "requests to wait", func() bool { return h.requests(mig.Accepted) == (i+1)*waitingJobs })
	}
	for range 3 { // remaining actions, such as reservations
		h.pass(ctx)
	}
}

// pass makes the daemon run a pass, and returns when the daemon has long been at rest.
func (h *host) pass(ctx context.Context) {
	looks := h.slurmctld.looks.Load()
	err := h.wakeUp(ctx, wake.Call{Verb: "resume"})
	if !errors.As(err, new(wake.UnreceiptedError)) { // the daemon has got a wake-up without a receipt, too
		must.Do(err)
	}
	h.await(ctx, "a pass", func() bool { return h.slurmctld.looks.Load() > looks })
	h.awaitRest(ctx, "the end of a pass", time.Second)
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
	_, rest, _ := strings.Cut(string(must.Get(os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)))), "\nVmHWM:")
	var kib float64
	must.Get(fmt.Sscanf(rest, "%g kB", &kib))
	return kib / 1024
}
