package main

import (
	"context"
	"slices"
	"time"

	"slurmflex/slurm"
)

// keptRun is how long a job on a kept machine runs: for a job of a minute, shortened.
const keptRun = 3 * time.Second

// hundredJobsOnKept works 100 exclusive jobs of one node off on 10 machines that are
// kept. The first ten are requested; each of the others begins when one before it ends.
func (b *bench) hundredJobsOnKept(ctx context.Context) []row {
	const jobs, machines = 100, 10
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
	const others = jobs/machines - 1 // on each machine, after its first
	return []row{
		measured("100 jobs of 1 node on 10 kept machines: groups made", float64(calls["regionInstanceGroupManagers.insert"]), "groups", machines),
		measured("the same: requests made", float64(calls["regionInstanceGroupManagerResizeRequests.insert"]), "requests", machines),
		measured("the same: from job to job on one machine, beyond the jobs' own time", (took-others*keptRun).Seconds()/others, "s", 2),
	}
}
