package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"slurmflex/mig"
	"slurmflex/slurm"
)

// usualRate is how many calls a second slurmflex makes unless configured.
const usualRate = 20

// noCapacity keeps requests ACCEPTED.
var noCapacity = []string{"--capacity", "0", "--queue-time", "1h"}

// scaleUp is jobs that Slurm gives nodes in one call of the hook.
type scaleUp struct {
	jobs, size int     // how many, of how many nodes each
	requests   int     // that come of them
	rate       float64 // calls a second
}

// run tells how long it takes from the call of the hook until all requests are
// ACCEPTED, and which calls of the API it cost.
func (u scaleUp) run(b *bench, ctx context.Context) (took time.Duration, calls map[string]int, err error) {
	d, err := b.startDaemon(ctx, idleCluster(u.jobs*u.size), u.rate, time.Hour, noCapacity...)
	if err != nil {
		return 0, nil, err
	}
	defer d.stop()
	if err := d.cloud.forgetCalls(ctx); err != nil {
		return 0, nil, err
	}
	jobs := d.slurm.submit(u.jobs, u.size, 0)
	began := time.Now()
	if err := d.call(ctx, nodesOf(jobs), jobs); err != nil {
		return 0, nil, err
	}
	err = await(ctx, "the requests to be accepted", func() (bool, error) {
		n, err := d.cloud.requests(ctx, mig.Accepted)
		return n == u.requests, err
	})
	took = time.Since(began)
	if err != nil {
		return 0, nil, err
	}
	calls, err = d.cloud.calls(ctx)
	return took, calls, err
}

func (b *bench) oneJob(ctx context.Context, nodes int, target float64) ([]row, error) {
	u := scaleUp{jobs: 1, size: nodes, requests: (nodes + mig.MaxInstances - 1) / mig.MaxInstances, rate: usualRate}
	took, _, err := u.run(b, ctx)
	if err != nil {
		return nil, err
	}
	name := fmt.Sprintf("1 job of %d nodes: hook called to %d request(s) ACCEPTED", nodes, u.requests)
	return []row{measured(name, took.Seconds(), "s", target)}, nil
}

func (b *bench) oneJobOf4(ctx context.Context) ([]row, error)    { return b.oneJob(ctx, 4, 2.3) }
func (b *bench) oneJobOf1000(ctx context.Context) ([]row, error) { return b.oneJob(ctx, 1000, 2.5) }
func (b *bench) oneJobOf5000(ctx context.Context) ([]row, error) { return b.oneJob(ctx, 5000, 3.5) }

// hundredJobs is 100 exclusive jobs of one node each in one call.
func (b *bench) hundredJobs(ctx context.Context) ([]row, error) {
	u := scaleUp{jobs: 100, size: 1, requests: 100, rate: 40}
	took, calls, err := u.run(b, ctx)
	if err != nil {
		return nil, err
	}
	return []row{
		measured("100 jobs of 1 node, 40 calls/s: hook called to all ACCEPTED", took.Seconds(), "s", 6),
		measured("100 jobs of 1 node: calls that change something, per job", float64(changes(calls))/100, "calls", 2.2),
	}, nil
}

// changes counts the calls that are not made to look or to wait.
func changes(calls map[string]int) int {
	n := 0
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
func total(calls map[string]int) int {
	n := 0
	for _, times := range calls {
		n += times
	}
	return n
}

// nodesOf are the nodes of all these jobs.
func nodesOf(jobs []slurm.Job) []string {
	var names []string
	for _, j := range jobs {
		names = append(names, j.Nodes...)
	}
	return names
}
