package main

import (
	"context"
	"strings"
	"time"

	"slurmflex/mig"
	"slurmflex/test/fakegce"
)

// scaleUp describes jobs that get nodes from Slurm in one call of the hook.
type scaleUp struct {
	jobs, size int // number of jobs, and nodes per job
	requests   int // expected number of requests
	rate       int // calls per second
}

// run returns the seconds from the call of the hook until all requests are ACCEPTED, and the API
// calls in that time.
func (u scaleUp) run(b *bench, ctx context.Context) (took float64, calls map[string]int) {
	h := b.newHost(setting{
		nodes: u.jobs * u.size, rate: u.rate, interval: time.Hour,
		cloud: fakegce.Options{QueueTime: time.Hour}, // ACCEPTED during the whole measurement
	})
	defer h.end()
	h.begin(ctx)
	h.cloud.ResetCalls()
	h.submit(u.jobs, u.size)
	h.await(ctx, "the requests to be accepted", func() bool { return h.requests(mig.Accepted) == u.requests })
	return h.sinceCall().Seconds(), h.cloud.Counts()
}

// oneJob measures one job with that many nodes.
func oneJob(nodes int) func(*bench, context.Context) []float64 {
	u := scaleUp{jobs: 1, size: nodes, requests: (nodes + mig.MaxInstances - 1) / mig.MaxInstances, rate: usualRate}
	return func(b *bench, ctx context.Context) []float64 {
		took, _ := u.run(b, ctx)
		return []float64{took}
	}
}

// hundredJobs measures 100 exclusive one-node jobs in one call.
func (b *bench) hundredJobs(ctx context.Context) []float64 {
	took, calls := scaleUp{jobs: 100, size: 1, requests: 100, rate: 40}.run(b, ctx)
	return []float64{took, float64(changes(calls)) / 100}
}

// changes counts the calls that modify the cloud.
func changes(calls map[string]int) (n int) {
	for method, times := range calls {
		switch _, verb, _ := strings.Cut(method, "."); verb {
		case "get", "list", "aggregatedList", "listManagedInstances", "wait":
		default:
			n += times
		}
	}
	return n
}

// total counts all calls.
func total(calls map[string]int) (n int) {
	for _, times := range calls {
		n += times
	}
	return n
}
