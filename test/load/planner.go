package main

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"slurmflex/config"
	"slurmflex/flex/plan"
	"slurmflex/flex/plan/scene"
	"slurmflex/test/bench/site"
	"slurmflex/test/must"
)

// planner computes plans for clusters of three sizes in three states, and
// reports the state that takes longest. The times are those that its thread had
// a processor, the median of some runs.
func (*bench) planner(context.Context) (rows []row) {
	for _, p := range []struct {
		nodes  int
		target float64 // ms
	}{{1_000, 2}, {10_000, 25}, {100_000, 300}} {
		cfg := must.Get(site.Config(p.nodes))
		var longest time.Duration
		for _, state := range []func(*config.Config, time.Time) scene.Snapshot{site.Steady, site.Rising, site.Leaving} {
			snap := state(cfg, time.Now())
			longest = max(longest, cpuOf(func() { plan.Compute(scene.Of(cfg, snap)) }))
		}
		rows = append(rows, measured(fmt.Sprintf("planner: %d nodes", p.nodes), float64(longest)/millisecond, "ms", p.target))
	}
	small, large := rows[0].Value, rows[len(rows)-1].Value
	growth := math.Log(large/small) / math.Log(100)
	return append(rows, measured("planner: power of its growth, 1,000 to 100,000 nodes", growth, "power", mostGrowth))
}

// mostGrowth is the largest power of the number of nodes with which the planner's
// time may grow. Linear is 1, and n log n is 1.1 between 1,000 and 100,000; the
// rest is for the processor's caches, which 1,000 nodes fit into.
const mostGrowth = 1.3

// cpuOf is the median of what some runs of do take of a processor's time.
func cpuOf(do func()) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var took []time.Duration
	for range 9 {
		before := cpuTime(unix.CLOCK_THREAD_CPUTIME_ID)
		do()
		took = append(took, cpuTime(unix.CLOCK_THREAD_CPUTIME_ID)-before)
	}
	return median(took)
}
