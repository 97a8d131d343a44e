package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"slurmflex/mig"
	"slurmflex/test/fakegce"
)

// scaleUp is jobs that Slurm gives nodes in one call of the hook.
type scaleUp struct {
	jobs, size int // how many, of how many nodes each
	requests   int // that come of them
	rate       int // calls a second
}

// run says how many seconds it takes from the call of the hook until all requests
// are ACCEPTED, and which calls of the API it cost.
func (u scaleUp) run(b *bench, ctx context.Context) (took float64, calls map[string]int) {
	h := b.newHost(setting{
		nodes: u.jobs * u.size, rate: u.rate, interval: time.Hour,
		cloud: fakegce.Options{QueueTime: time.Hour}, // ACCEPTED for as long as we look
	})
	defer h.end()
	h.begin(ctx)
	h.cloud.ResetCalls()
	h.submit(u.jobs, u.size)
	h.await(ctx, "the requests to be accepted", func() bool { return h.requests(mig.Accepted) == u.requests })
	return h.sinceCall().Seconds(), h.cloud.Counts()
}

func (b *bench) oneJob(ctx context.Context, nodes int, target float64) []row {
	u := scaleUp{jobs: 1, size: nodes, requests: (nodes + mig.MaxInstances - 1) / mig.MaxInstances, rate: usualRate}
	took, _ := u.run(b, ctx)
	return []row{measured(fmt.Sprintf("1 job of %d nodes: hook called to %d request(s) ACCEPTED", nodes, u.requests), took, "s", target)}
}

func (b *bench) oneJobOf4(ctx context.Context) []row    { return b.oneJob(ctx, 4, 2.3) }
func (b *bench) oneJobOf1000(ctx context.Context) []row { return b.oneJob(ctx, 1000, 2.5) }
func (b *bench) oneJobOf5000(ctx context.Context) []row { return b.oneJob(ctx, 5000, 3.5) }

// hundredJobs is 100 exclusive jobs of one node each in one call.
func (b *bench) hundredJobs(ctx context.Context) []row {
	took, calls := scaleUp{jobs: 100, size: 1, requests: 100, rate: 40}.run(b, ctx)
	return []row{
		measured("100 jobs of 1 node, 40 calls/s: hook called to all ACCEPTED", took, "s", 6),
		measured("100 jobs of 1 node: calls that change something, per job", float64(changes(calls))/100, "calls", 2.2),
	}
}

// changes counts the calls that are not made to look or to wait.
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
