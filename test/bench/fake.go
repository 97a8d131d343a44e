package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"slurmflex/mig"
	"slurmflex/test/bench/site"
	"slurmflex/test/fakegce"
	"slurmflex/test/fakegce/remote"
)

// fake is a fake Compute API in a process of its own.
type fake struct{ *remote.Fake }

// startFake starts a fake with the cluster's template and quota, whose
// operations take a second. More are further flags of slurmflex-fakegce.
func (b *bench) startFake(ctx context.Context, more ...string) (*fake, error) {
	args := append([]string{
		"--project", site.Project, "--operation-time", "1s", "--boot-time", "0", "--delete-time", "0",
		"--template", site.NodeSet + "=" + site.Machine + "@" + site.Region,
	}, more...)
	started, err := remote.Start(filepath.Join(b.build, "slurmflex-fakegce"), os.Stderr, args...)
	if err != nil {
		return nil, err
	}
	f := &fake{started}
	err = f.Tell(ctx, "quota", map[string]any{"region": site.Region, "metric": "ACTIVE_RESIZE_REQUESTS", "limit": site.ActiveRequests})
	if err != nil {
		f.Stop()
	}
	return f, err
}

// room sets how many VMs there is capacity for; -1 is no limit.
func (f *fake) room(ctx context.Context, vms int) error {
	return f.Tell(ctx, "capacity", map[string]any{"zone": site.Zone, "machineType": site.Machine, "count": vms})
}

// calls are how often each method was called since the last forget.
func (f *fake) calls(ctx context.Context) (map[string]int, error) {
	var counts map[string]int
	err := f.Ask(ctx, "counts", &counts)
	return counts, err
}

func (f *fake) forgetCalls(ctx context.Context) error {
	return f.Forget(ctx, "calls")
}

// state is the fake's whole world.
func (f *fake) state(ctx context.Context) (fakegce.State, error) {
	var st fakegce.State
	err := f.Ask(ctx, "state", &st)
	return st, err
}

// requests counts the requests in that state.
func (f *fake) requests(ctx context.Context, state mig.RequestState) (int, error) {
	st, err := f.state(ctx)
	n := 0
	for _, g := range st.Groups {
		for _, r := range g.Requests {
			if r.State == string(state) {
				n++
			}
		}
	}
	return n, err
}

// pollPace is how often a condition is looked at, and so how exact a time is.
const pollPace = 25 * time.Millisecond

// await waits until a condition holds, and fails if it does not within a
// minute or two.
func await(ctx context.Context, what string, holds func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	for {
		ok, err := holds()
		if ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w", what, context.Cause(ctx))
		case <-time.After(pollPace):
		}
	}
}
