package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

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
	f, err := b.startFake(ctx)
	if err != nil {
		return nil, err
	}
	defer f.Stop()
	h, hook, err := b.hookHost(ctx, f)
	if err != nil {
		return nil, err
	}
	daemon := h.slurmflex(ctx, "daemon")
	daemon.Stderr = nil
	if err := daemon.Start(); err != nil {
		return nil, err
	}
	defer func() {
		_ = daemon.Process.Signal(unix.SIGTERM)
		_ = daemon.Wait()
	}()
	err = await(ctx, "the daemon to listen", func() (bool, error) {
		return flex.Send(ctx, flex.SocketPath(h.path("run")), flex.Hint{Verb: "resume"}) == nil, nil
	})
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
// detached round each time.
func (b *bench) hookWithoutDaemon(ctx context.Context) ([]row, error) {
	f, err := b.startFake(ctx)
	if err != nil {
		return nil, err
	}
	defer f.Stop()
	_, hook, err := b.hookHost(ctx, f)
	if err != nil {
		return nil, err
	}
	took, _, err := b.laps(ctx, hookRuns/4, hook)
	if err != nil {
		return nil, err
	}
	return []row{measured("hook, no daemon: median", float64(median(took))/millisecond, "ms", 100)}, nil
}

// hookHost is a host whose nodes are all powered down, and a call for all of
// them, whose file speaks of 1,000 jobs.
func (b *bench) hookHost(ctx context.Context, f *fake) (*host, *exec.Cmd, error) {
	h, err := b.newHost(hookNodes, f.Endpoint, time.Hour)
	if err != nil {
		return nil, nil, err
	}
	idle, _ := idleCluster(hookNodes).look()
	if err := h.dummies(idle); err != nil {
		return nil, nil, err
	}
	jobs := idleCluster(hookNodes).submit(hookJobs, hookNodes/hookJobs, 0)
	call, err := h.resume(ctx, site.Nodes(0, hookNodes), jobs)
	return h, call, err
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
