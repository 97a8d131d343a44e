package plan

import (
	"time"

	"slurmflex/config"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// lease is the run duration to ask for, in whole seconds between
// mig.MinDuration and the nodeset's max_run_duration: that maximum, or with
// use_job_duration the longest need of the jobs that hold the nodes. A job
// without a time limit, or with one that cannot be read, needs the maximum.
func lease(flex *config.Flex, jobs []*slurm.Job) time.Duration {
	longest := min(flex.MaxRunDuration, mig.MaxDuration)
	if !flex.UseJobDuration || len(jobs) == 0 {
		return longest
	}
	var need time.Duration
	for _, j := range jobs {
		if j.Limit.Kind != slurm.LimitSet {
			return longest
		}
		need = max(need, j.Limit.Duration+flex.JobDurationMargin)
	}
	return min(max(need, mig.MinDuration), longest)
}
