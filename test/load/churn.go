package main

import (
	"context"
	"time"

	"slurmflex/test/bench/site"
	"slurmflex/test/fakegce"
	"slurmflex/test/fakeslurm"
	"slurmflex/test/must"
)

// The clients of churn: each client submits a job, cancels it after churnPause, and submits the
// next.
const (
	churnClients = 20
	churnPause   = time.Minute
	churnTime    = 10 * time.Minute
)

// churn makes clients submit and cancel jobs that never get machines. It returns the number of
// modifying calls per job, the groups that are left after all jobs are cancelled, and the passes
// per minute.
func (b *bench) churn(ctx context.Context) []float64 {
	h := b.newHost(setting{
		nodes: 5 * churnClients, rate: usualRate, interval: usualInterval, pending: true,
		cloud: fakegce.Options{QueueTime: time.Hour},
	})
	defer h.end()
	h.begin(ctx)
	h.await(ctx, "the cover", func() bool { return len(must.Get(h.slurm.Reservations(ctx))) > 0 })
	h.cloud.ResetCalls()
	begun, looks, submitted := time.Now(), h.slurmctld.looks.Load(), 0
	jobs, due := [churnClients]uint32{}, [churnClients]time.Time{}
	for i := range due {
		due[i] = begun.Add(time.Duration(i) * churnPause / churnClients)
	}
	h.await(ctx, "the clients to end", func() bool {
		ends := time.Since(begun) > churnTime
		for i := range jobs {
			if ends || time.Now().After(due[i]) {
				if jobs[i] != 0 {
					must.Do(h.slurm.CancelJob(ctx, jobs[i]))
				}
				jobs[i], due[i] = 0, due[i].Add(churnPause)
				if !ends {
					jobs[i] = must.Get(h.slurm.Submit(fakeslurm.JobSpec{Partition: site.Places(1)[0].Partition, Nodes: 4, Limit: site.Limit, Run: time.Hour, User: "ada"}))
					submitted++
				}
			}
		}
		return ends
	})
	passes := float64(h.slurmctld.looks.Load()-looks) / churnTime.Minutes()
	h.await(ctx, "nothing to be left", func() bool { return len(h.cloud.State().Groups) == 0 || time.Since(begun) > churnTime+2*time.Minute })
	return []float64{float64(changes(h.cloud.Counts())) / float64(submitted), float64(len(h.cloud.State().Groups)), passes}
}
