package main

import (
	"context"
	"time"

	"slurmflex/mig"
	"slurmflex/test/bench/site"
	"slurmflex/test/fakegce"
	"slurmflex/test/must"
)

// usualInterval is the default interval between passes.
const usualInterval = 30 * time.Second

// requestCancelled returns the seconds from scancel to the end of the job's request: on a wake-up,
// with an interval so long that no other pass starts, and without a wake-up.
func (b *bench) requestCancelled(ctx context.Context) []float64 {
	return []float64{b.cancelled(ctx, time.Hour, true), b.cancelled(ctx, usualInterval, false)}
}

// cancelled cancels a two-node job that waits for capacity, just after a pass has observed the
// cluster.
func (b *bench) cancelled(ctx context.Context, interval time.Duration, wakeUp bool) float64 {
	h := b.newHost(setting{
		nodes: 2, rate: usualRate, interval: interval, cloud: fakegce.Options{AttemptInterval: 100 * time.Millisecond},
	})
	defer h.end()
	h.cloud.SetCapacity(site.Zone, site.Machine, 0)
	h.begin(ctx)
	jobs := h.submitTo("train", 1, 2)
	h.await(ctx, "the request to be accepted", func() bool { return h.requests(mig.Accepted) == 1 })
	h.deaf.Store(true)
	first := h.slurmctld.looks.Load()
	looked, at := first, time.Now()
	h.await(ctx, "the pass that sees it, and those that follow at once", func() bool {
		if looks := h.slurmctld.looks.Load(); looks != looked {
			looked, at = looks, time.Now()
		}
		return looked > first && time.Since(at) > time.Second
	})
	must.Do(h.slurm.Cancel(jobs[0]))
	began := time.Now()
	if wakeUp {
		h.deaf.Store(false)
		h.hook(site.Nodes(0, 2), jobs)
		h.deaf.Store(true)
	}
	h.await(ctx, "the request to be cancelled", func() bool { return h.requests(mig.Cancelled) == 1 })
	return time.Since(began).Seconds()
}
