package main

import (
	"context"
	"slices"
	"time"

	"slurmflex/slurm"
)

// keptRun is how long a job on a warm machine runs: a job of a minute, shortened.
const keptRun = 3 * time.Second

// keptMachines is the number of machines that the jobs share.
const keptMachines = 10

// hundredJobsOnKept runs 100 exclusive one-node jobs on 10 warm machines. The first ten jobs
// request machines; each other job starts when an earlier job ends.
func (b *bench) hundredJobsOnKept(ctx context.Context) []float64 {
	const jobs, machines = 100, keptMachines
	h := b.newHost(setting{nodes: machines, rate: usualRate, interval: usualInterval, keep: time.Hour})
	defer h.end()
	h.begin(ctx)
	h.cloud.ResetCalls()
	ids := h.submitFor(jobs, 1, keptRun)
	ended := func(id uint32) bool { return h.slurm.JobState(id) == slurm.JobCompleted }
	h.await(ctx, "the first job to end", func() bool { return slices.ContainsFunc(ids, ended) })
	begun := time.Now()
	h.await(ctx, "all jobs to end", func() bool { return !slices.ContainsFunc(ids, func(id uint32) bool { return !ended(id) }) })
	took, calls := time.Since(begun), h.cloud.Counts()
	const others = jobs/machines - 1 // on each machine, after its first job
	return []float64{
		float64(calls["regionInstanceGroupManagers.insert"]),
		float64(calls["regionInstanceGroupManagerResizeRequests.insert"]),
		(took - others*keptRun).Seconds() / others,
	}
}
