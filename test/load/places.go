package main

import (
	"context"
	"time"

	"slurmflex/mig"
	"slurmflex/test/bench/site"
	"slurmflex/test/fakegce"
	"slurmflex/test/fakeslurm"
	"slurmflex/test/must"
)

// hundredJobsInTwoPlaces makes 100 one-node jobs wait PENDING in two partitions at once. It returns
// the seconds until each job has an ACCEPTED request in both, and the modifying calls per job.
func (b *bench) hundredJobsInTwoPlaces(ctx context.Context) []float64 {
	const jobs = 100
	h := b.newHost(setting{
		nodes: jobs, regions: 2, rate: 80, interval: usualInterval, pending: true,
		cloud: fakegce.Options{QueueTime: time.Hour},
	})
	defer h.end()
	h.begin(ctx)
	h.await(ctx, "the cover", func() bool { return len(must.Get(h.slurm.Reservations(ctx))) > 0 })
	h.cloud.ResetCalls()
	places := site.Places(2)
	begun := time.Now()
	for range jobs {
		must.Get(h.slurm.Submit(fakeslurm.JobSpec{
			Partition: places[0].Partition + "," + places[1].Partition, Nodes: 1, Limit: site.Limit, Run: time.Hour, User: "ada",
		}))
	}
	h.await(ctx, "a request in each place of each job", func() bool { return h.requests(mig.Accepted) == 2*jobs })
	return []float64{time.Since(begun).Seconds(), float64(changes(h.cloud.Counts())) / jobs}
}
