package main

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"slurmflex/mig"
	"slurmflex/slurm"
	"slurmflex/test/bench/site"
	"slurmflex/test/fakegce"
	"slurmflex/test/must"
)

// reaction is an event for a two-node job that waits for capacity, and its expected consequence.
type reaction struct {
	name    string
	happens func(context.Context, *host, uint32)
	came    func(*host, uint32) bool
}

func reactions() []reaction {
	return []reaction{
		{"capacity granted: lease reserved", grantCapacity, isReserved},
		{"request FAILED: job back in the queue", refuseCapacity, isPending},
		{"scancel: request cancelled", cancelJob, isCancelled},
	}
}

// grantCapacity returns when the job's machines run.
func grantCapacity(ctx context.Context, h *host, _ uint32) {
	h.cloud.SetCapacity(site.Zone, site.Machine, -1)
	h.await(ctx, "machines to run", func() bool {
		machines := h.cloud.State().Instances
		return len(machines) == 2 && machines[0].Status == "RUNNING"
	})
}

func isReserved(h *host, _ uint32) bool {
	reservations, err := h.slurm.Reservations(context.Background())
	return err == nil && len(reservations) == 1 && len(reservations[0].Nodes) == 2
}

func refuseCapacity(_ context.Context, h *host, job uint32) {
	must.Do(h.cloud.FailRequest(fmt.Sprintf("%s-%s-job-%d", site.Cluster, site.NodeSet, job), "a1",
		"RESOURCE_POOL_EXHAUSTED", "There are currently not enough resources available to fulfill the request."))
}

func isPending(h *host, job uint32) bool               { return h.slurm.JobState(job) == slurm.JobPending }
func cancelJob(_ context.Context, h *host, job uint32) { must.Do(h.slurm.Cancel(job)) }
func isCancelled(h *host, _ uint32) bool               { return h.requests(mig.Cancelled) == 1 }

// reactionTime returns the seconds from an event, just after a pass has observed the cluster, to
// its consequence, with or without a wake-up.
func (b *bench) reactionTime(ctx context.Context, r reaction, interval time.Duration, wakeUp bool) float64 {
	h := b.newHost(setting{
		nodes: 2, rate: usualRate, interval: interval, cloud: fakegce.Options{AttemptInterval: 100 * time.Millisecond},
	})
	defer h.end()
	h.cloud.SetCapacity(site.Zone, site.Machine, 0)
	h.begin(ctx)
	jobs := h.submit(1, 2)
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
	r.happens(ctx, h, jobs[0])
	began := time.Now()
	if wakeUp {
		h.deaf.Store(false)
		h.hook(site.Nodes(0, 2), jobs)
		h.deaf.Store(true)
	}
	h.await(ctx, r.name, func() bool { return r.came(h, jobs[0]) })
	return time.Since(began).Seconds()
}

// reactionsOnWakeUp measures the reactions one after the other, with an interval so long that only
// wake-ups start passes.
func (b *bench) reactionsOnWakeUp(ctx context.Context) (values []float64) {
	for _, r := range reactions() {
		values = append(values, b.reactionTime(ctx, r, time.Hour, true))
	}
	return values
}

// usualInterval is the default interval between passes.
const usualInterval = 30 * time.Second

// reactionsWithinInterval measures all reactions in parallel, because they mostly wait.
func (b *bench) reactionsWithinInterval(ctx context.Context) []float64 {
	all := reactions()
	values := make([]float64, len(all))
	side, ctx := errgroup.WithContext(ctx)
	for i, r := range all {
		side.Go(func() error {
			return must.Try(func() {
				values[i] = b.reactionTime(ctx, r, usualInterval, false)
			})
		})
	}
	must.Do(side.Wait())
	return values
}
