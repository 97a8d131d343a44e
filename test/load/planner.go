package main

import (
	"context"
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

// planner computes plans for clusters of three sizes in three states, and reports the slowest
// state. It measures the thread's CPU time and takes the median of several runs.
func (*bench) planner(context.Context) (values []float64) {
	for _, nodes := range []int{1_000, 10_000, 100_000} {
		cfg := must.Get(site.Config(nodes))
		var longest time.Duration
		for _, state := range []func(*config.Config, time.Time) scene.Snapshot{site.Steady, site.Rising, site.Leaving} {
			snap := state(cfg, time.Now())
			longest = max(longest, cpuOf(func() { plan.Compute(scene.Of(cfg, snap)) }))
		}
		values = append(values, float64(longest)/millisecond)
	}
	small, large := values[0], values[len(values)-1]
	cfg := must.Get(site.Config(5_000))
	waiting := site.Waiting(cfg, time.Now(), waitingPending, 4)
	inQueue := cpuOf(func() { plan.Compute(scene.Of(cfg, waiting)) })
	return append(values, math.Log(large/small)/math.Log(100), float64(inQueue)/millisecond)
}

// mostGrowth is the highest acceptable exponent of the planner's growth with the number of nodes.
// Linear growth is 1, and n log n is 1.1 between 1,000 and 100,000. The remaining margin covers the
// CPU caches, which are large enough for 1,000 nodes.
const mostGrowth = 1.3

// cpuOf returns the median CPU time of several runs of do.
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
