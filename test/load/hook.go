package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"slurmflex/flex"
	"slurmflex/test/bench/site"
)

// What a hook is called for.
const (
	hookNodes = 5_000
	hookJobs  = 1_000
	hookRuns  = 40
)

// hookWithDaemon calls the hook beside a daemon, which looks at 5,000 nodes
// each time.
func (b *bench) hookWithDaemon(ctx context.Context) ([]row, error) {
	h, hook, err := b.hookHost(ctx)
	if err != nil {
		return nil, err
	}
	defer h.end()
	if err := h.begin(ctx); err != nil {
		return nil, err
	}
	err = h.await(ctx, "the daemon to listen", func() bool { return h.wakeUp(ctx, flex.WakeUp{Verb: "resume"}) == nil })
	if err != nil {
		return nil, err
	}
	took, memory, err := b.laps(ctx, hookRuns, hook)
	if err != nil {
		return nil, err
	}
	return []row{
		measured("hook, daemon alive, 5,000 nodes and 1,000 jobs: median", float64(median(took))/millisecond, "ms", 30),
		measured("hook, daemon alive: most memory of 40 calls", float64(memory)/mebibyte, "MiB", 25),
	}, nil
}

// hookWithoutDaemon calls the hook where no daemon runs, so that it starts a
// detached pass each time.
func (b *bench) hookWithoutDaemon(ctx context.Context) ([]row, error) {
	h, hook, err := b.hookHost(ctx)
	if err != nil {
		return nil, err
	}
	defer h.end()
	took, _, err := b.laps(ctx, hookRuns/4, hook)
	if err != nil {
		return nil, err
	}
	return []row{measured("hook, no daemon: median", float64(median(took))/millisecond, "ms", 100)}, nil
}

// hookHost is a host whose nodes are all powered down, and a call for all of
// them, whose file speaks of 1,000 jobs. slurmctld has not started these, so that
// there is nothing to do.
func (b *bench) hookHost(ctx context.Context) (*host, *exec.Cmd, error) {
	h, err := b.newHost(setting{nodes: hookNodes, rate: usualRate, interval: time.Hour})
	if err != nil {
		return nil, nil, err
	}
	cfg, err := site.Config(hookNodes)
	if err != nil {
		h.end()
		return nil, nil, err
	}
	call, err := h.call(ctx, site.Nodes(0, hookNodes), site.Rising(cfg, time.Now()).Jobs[:hookJobs])
	if err != nil {
		h.end()
	}
	return h, call, err
}

// lap is one run of a program under the stopwatch.
type lap struct {
	Took   time.Duration `json:"took"`
	Memory int64         `json:"memory"` // bytes
}

// laps runs a command so many times under the stopwatch.
func (b *bench) laps(ctx context.Context, runs int, cmd *exec.Cmd) (took []time.Duration, memory int64, err error) {
	watch := exec.CommandContext(ctx, filepath.Join(b.build, "stopwatch"), append([]string{fmt.Sprint(runs)}, cmd.Args...)...)
	watch.Env, watch.Stderr = cmd.Env, os.Stderr
	out, err := watch.Output()
	if err != nil {
		return nil, 0, err
	}
	var laps []lap
	if err := json.Unmarshal(out, &laps); err != nil {
		return nil, 0, fmt.Errorf("stopwatch: %w", err)
	}
	for _, l := range laps {
		took, memory = append(took, l.Took), max(memory, l.Memory)
	}
	return took, memory, nil
}

// binary looks at the program itself.
func (b *bench) binary(ctx context.Context) ([]row, error) {
	program := filepath.Join(b.build, "slurmflex")
	info, err := os.Stat(program)
	if err != nil {
		return nil, fmt.Errorf("%w; run make build", err)
	}
	took, _, err := b.laps(ctx, hookRuns, exec.CommandContext(ctx, program, "version"))
	if err != nil {
		return nil, err
	}
	return []row{
		measured("binary: size", float64(info.Size())/mebibyte, "MiB", 60),
		measured("binary: slurmflex version, median", float64(median(took))/millisecond, "ms", 20),
	}, nil
}
