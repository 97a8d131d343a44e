package main

import (
	"context"
	"slices"
	"time"

	"slurmflex/mig"
	"slurmflex/test/bench/site"
	"slurmflex/test/fakegce"
	"slurmflex/test/fakeslurm"
	"slurmflex/test/must"
)

// hundredJobsFallBack has 100 jobs of one node refused in a partition of Spot machines,
// of which there are none, and move to one of on-demand machines.
func (b *bench) hundredJobsFallBack(ctx context.Context) []float64 {
	const jobs = 100
	h := b.newHost(setting{nodes: jobs, regions: 2, rate: 40, interval: usualInterval, kinds: []string{"spot", "on_demand"}})
	defer h.end()
	must.Do(h.cloud.SetModelCapacity("", "", mig.Spot, 0))
	h.begin(ctx)
	h.cloud.ResetCalls()
	places := site.Places(2)
	list := places[0].Partition + "," + places[1].Partition
	for range jobs {
		must.Get(h.slurm.Submit(fakeslurm.JobSpec{
			Partition: list, Nodes: 1, Limit: site.Limit, Run: time.Hour, User: "ada", AdminComment: "flex-start: [partitions " + list + "]",
		}))
	}
	h.await(ctx, "all jobs to have their machines", func() bool {
		on := h.cloud.State().Instances
		return len(on) == jobs && !slices.ContainsFunc(on, func(in fakegce.Instance) bool { return in.Model != mig.Standard })
	})
	calls := h.cloud.Counts()
	return []float64{h.sinceCall().Seconds(), float64(calls["regionInstances.bulkInsert"]+calls["instances.bulkInsert"]) / jobs}
}
