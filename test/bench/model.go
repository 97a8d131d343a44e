package main

import (
	"context"
	"fmt"
	"time"

	"slurmflex/config"
	"slurmflex/flex"
	"slurmflex/mig/gce"
	"slurmflex/slurm"
	"slurmflex/test/bench/site"
	"slurmflex/test/fakegce"
	"slurmflex/test/fakeslurm"
)

// The scale-up and scale-down in the model of Slurm.
const (
	modelJobs = 250
	modelSize = 16
	// Each job costs a group and a request on the way up, the deletion of its
	// instances and of its group on the way down.
	modelCalls = 2 * modelJobs
)

// savingTime is for how long a client saves up calls that it does not make.
const savingTime = 10 * time.Second

// floor is the least time in which one way can be gone: the calls, those that
// are refused and come again included, less what is saved up, and the two
// operations of the last one.
func floor() time.Duration {
	calls := modelCalls / (1 - throttled)
	return time.Duration(calls/usualRate*float64(time.Second)) - savingTime + 2*time.Second
}

// model is a cluster of fakes.
type model struct {
	slurm *fakeslurm.Cluster
	cloud *fake
	hints chan flex.Hint

	called time.Time // when slurmctld first called a program for what it does now

	up   map[string]bool // nodes whose machine runs
	most int             // of machines that were there or asked for at once

	calls   int       // to the cloud so far
	changed time.Time // when that was last seen to grow
	last    fakegce.State
}

// upAndDown gives 4,000 nodes to 250 jobs at once, and takes them away again.
// A fifth of the calls to the cloud is refused.
func (b *bench) upAndDown(ctx context.Context) ([]row, error) {
	f, err := b.startFake(ctx)
	if err != nil {
		return nil, err
	}
	defer f.Stop()
	h, err := b.newHost(modelJobs*modelSize, f.Endpoint, usualInterval)
	if err != nil {
		return nil, err
	}
	cfg, err := config.Load(h.path("config.yaml"))
	if err != nil {
		return nil, err
	}
	m := newModel(f)
	r, err := newReconciler(ctx, cfg, m.slurm, gce.Options{Rate: usualRate, Transport: newThrottle()})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	defer func() {
		cancel()
		<-ended
	}()
	go func() {
		defer close(ended)
		_ = r.Run(ctx, flex.Lock{Dir: cfg.Options.RunDir}, m.hints)
	}()
	return m.measure(ctx)
}

func newModel(f *fake) *model {
	m := &model{cloud: f, hints: make(chan flex.Hint, 1), up: map[string]bool{}}
	hint := func() {
		if m.called.IsZero() {
			m.called = time.Now()
		}
		select {
		case m.hints <- flex.Hint{}:
		default: // one waits to be seen already, and serves both
		}
	}
	nodes := site.Nodes(0, modelJobs*modelSize)
	m.slurm = fakeslurm.New(fakeslurm.Options{
		Nodes:         nodes,
		Partitions:    []slurm.Partition{{Name: "train", Nodes: nodes, Exclusive: true, PowerDownOnIdle: true}},
		ResumeTimeout: 18 * time.Hour, SuspendTimeout: 10 * time.Minute,
		Resume:  func([]string, []uint32) { hint() },
		Suspend: func([]string) { hint() },
	})
	return m
}

func (m *model) measure(ctx context.Context) ([]row, error) {
	var jobs []uint32
	for range modelJobs {
		id, err := m.slurm.Submit(fakeslurm.JobSpec{Partition: "train", Nodes: modelSize, Limit: site.Limit, Run: site.Limit})
		if err != nil {
			return nil, err
		}
		jobs = append(jobs, id)
	}
	up, err := m.until(ctx, "all nodes to be up", func() bool { return len(m.up) == modelJobs*modelSize })
	if err != nil {
		return nil, err
	}
	if _, err := m.until(ctx, "all jobs to run", func() bool { return m.allRun(jobs) }); err != nil {
		return nil, err
	}
	if _, err := m.until(ctx, "calls to be saved up", func() bool { return time.Since(m.changed) > savingTime }); err != nil {
		return nil, err
	}
	for _, id := range jobs {
		if err := m.slurm.Cancel(id); err != nil {
			return nil, err
		}
	}
	down, err := m.until(ctx, "nothing to be left", func() bool { return len(m.last.Instances)+len(m.last.Groups) == 0 })
	if err != nil {
		return nil, err
	}
	limit := 1.3 * floor().Seconds()
	return []row{
		measured("4,000 nodes for 250 jobs, a fifth of the calls refused: all up", up.Seconds(), "s", limit),
		measured("the same 4,000 nodes: nothing left after scancel", down.Seconds(), "s", limit),
		measured("the same: most machines asked for at once", float64(m.most), "VMs", modelJobs*modelSize),
	}, nil
}

// until lets time pass until a condition holds, and tells how much did since
// slurmctld called for the first time.
func (m *model) until(ctx context.Context, what string, holds func() bool) (time.Duration, error) {
	m.called = time.Time{}
	limit := time.Now().Add(5 * time.Minute)
	for !holds() {
		if time.Now().After(limit) {
			return 0, fmt.Errorf("waiting for %s: %d nodes are up, %d groups and %d instances there after 5 minutes", what,
				len(m.up), len(m.last.Groups), len(m.last.Instances))
		}
		if err := m.pass(ctx); err != nil {
			return 0, err
		}
		select {
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		case <-time.After(modelPace):
		}
	}
	return time.Since(m.called), nil
}

// modelPace is the time between two looks at the model, which slurmctld's own
// work takes a second.
const modelPace = 500 * time.Millisecond

// pass has the slurmds of new machines register, those of machines that are
// gone fall silent, and slurmctld do its work.
func (m *model) pass(ctx context.Context) (err error) {
	if m.last, err = m.cloud.state(ctx); err != nil {
		return err
	}
	running := map[string]bool{}
	for _, in := range m.last.Instances {
		if in.Status != "RUNNING" {
			continue
		}
		running[in.Name] = true
		if !m.up[in.Name] {
			m.slurm.Register(in.Name, in.Created)
		}
	}
	for name := range m.up {
		if !running[name] {
			m.slurm.Silence(name)
		}
	}
	m.up = running
	asked := 0
	for _, g := range m.last.Groups {
		asked += max(g.TargetSize, len(g.Members))
	}
	m.most = max(m.most, asked)
	counts, err := m.cloud.calls(ctx)
	if calls := total(counts); calls > m.calls {
		m.calls, m.changed = calls, time.Now()
	}
	m.slurm.Step()
	return err
}

func (m *model) allRun(jobs []uint32) bool {
	for _, id := range jobs {
		if m.slurm.JobState(id) != slurm.JobRunning {
			return false
		}
	}
	return true
}
