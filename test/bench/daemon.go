package main

import (
	"context"
	"time"

	"go.uber.org/zap"

	"slurmflex/config"
	"slurmflex/flex"
	"slurmflex/mig/gce"
)

// daemon is slurmflex's daemon in this process, with a stand-in for Slurm. It
// takes hints from the real hooks of its host.
type daemon struct {
	*host
	slurm *slurmctld
	cloud *fake
	stop  func()
}

// startDaemon starts a fake, with further flags of its own, and a daemon that
// calls it at that rate. It returns when the daemon has looked once.
func (b *bench) startDaemon(ctx context.Context, s *slurmctld, rate float64, interval time.Duration, flags ...string) (*daemon, error) {
	f, err := b.startFake(ctx, flags...)
	if err != nil {
		return nil, err
	}
	d, err := b.attach(ctx, s, f, rate, interval)
	if err != nil {
		f.Stop()
		return nil, err
	}
	stop := d.stop
	d.stop = func() {
		stop()
		f.Stop()
	}
	err = await(ctx, "the first round", func() (bool, error) {
		calls, err := f.calls(ctx)
		return calls["instances.aggregatedList"] > 0, err
	})
	if err != nil {
		d.stop()
	}
	return d, err
}

func (b *bench) attach(ctx context.Context, s *slurmctld, f *fake, rate float64, interval time.Duration) (*daemon, error) {
	h, err := b.newHost(len(s.queue.Nodes), f.Endpoint, interval)
	if err != nil {
		return nil, err
	}
	cfg, err := config.Load(h.path("config.yaml"))
	if err != nil {
		return nil, err
	}
	r, err := newReconciler(ctx, cfg, s, gce.Options{Rate: rate})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	hints, err := flex.Listen(ctx, flex.SocketPath(cfg.Options.RunDir), cfg.Cluster, r.Log)
	if err != nil {
		cancel()
		return nil, err
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = r.Run(ctx, flex.Lock{Dir: cfg.Options.RunDir}, hints)
	}()
	return &daemon{host: h, slurm: s, cloud: f, stop: func() {
		cancel()
		<-ended
	}}, nil
}

// newReconciler makes a reconciler whose cloud is the configuration's. The
// options say at which rate it is called.
func newReconciler(ctx context.Context, cfg *config.Config, s flex.Scheduler, o gce.Options) (*flex.Reconciler, error) {
	o.Project, o.Endpoint = cfg.Project, cfg.Options.ComputeEndpoint
	client, err := gce.New(ctx, o)
	if err != nil {
		return nil, err
	}
	return &flex.Reconciler{Config: cfg, Scheduler: s, Cloud: client, Log: zap.NewNop(), Now: time.Now}, nil
}
