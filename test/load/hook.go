package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"slurmflex/flex/wake"
	"slurmflex/test/bench/site"
	"slurmflex/test/must"
)

// The calls of a hook.
const (
	hookNodes = 5_000
	hookJobs  = 1_000
	hookRuns  = 40
)

// hookWithDaemon measures the hook with a daemon that reads 5,000 nodes for each call. The call is
// for all nodes; its resume file names 1,000 jobs that slurmctld has not started, so that the pass
// has nothing to do.
func (b *bench) hookWithDaemon(ctx context.Context) []float64 {
	h := b.newHost(setting{nodes: hookNodes, rate: usualRate, interval: time.Hour})
	defer h.end()
	jobs := site.Rising(must.Get(site.Config(hookNodes)), time.Now()).Jobs
	hook := h.call(ctx, site.Nodes(0, hookNodes), jobs[:hookJobs])
	h.begin(ctx)
	h.await(ctx, "the daemon to listen", func() bool { return h.wakeUp(ctx, wake.Call{Verb: "resume"}) == nil })
	took, memory := b.laps(ctx, hookRuns, hook)
	return []float64{took, memory}
}

// laps runs a command repeatedly under the stopwatch and returns its median duration in ms and its
// maximum memory in MiB.
func (b *bench) laps(ctx context.Context, runs int, cmd *exec.Cmd) (took, memory float64) {
	watch := exec.CommandContext(ctx, filepath.Join(b.build, "stopwatch"), append([]string{fmt.Sprint(runs)}, cmd.Args...)...)
	watch.Env, watch.Stderr = cmd.Env, os.Stderr
	var laps []struct {
		Took   time.Duration `json:"took"`
		Memory int64         `json:"memory"` // bytes
	}
	must.Do(json.Unmarshal(must.Get(watch.Output()), &laps))
	var all []time.Duration
	for _, l := range laps {
		all, memory = append(all, l.Took), max(memory, float64(l.Memory)/mebibyte)
	}
	return float64(median(all)) / millisecond, memory
}
