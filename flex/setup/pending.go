package setup

import (
	"strings"
	"time"

	"slurmflex/config"
	"slurmflex/slurm"
)

// pending checks the settings for jobs that wait pending: slurmflex requests what backfill has
// planned.
func (j *judge) pending() {
	conf := j.world.Conf.Is
	if j.cfg.Options.Waiting != config.Pending {
		return
	}
	if parameter, why := conf.Unplanned(); why != "" {
		j.conf(Advice, parameter, "%s: jobs wait CONFIGURING and not PENDING, because %s; change it, or set waiting: configuring", conf[parameter], why)
	} else if interval := conf.BackfillInterval(); interval > time.Minute {
		j.conf(Advice, "SchedulerParameters", "bf_interval=%.0f: machines for a waiting job are requested once backfill has planned it, up to %s after its submission; set bf_interval=30", interval.Seconds(), slurm.Clock(interval))
	}
	for _, item := range conf.List("SchedulerParameters") {
		name, value, _ := strings.Cut(item, "=")
		if effect := delays[name]; effect != "" && value != "0" {
			j.conf(Advice, "SchedulerParameters", "%s: %s; remove it", item, effect)
		}
	}
}

// delays holds what parameters of backfill do to jobs that wait for machines.
var delays = map[string]string{
	"bf_min_age_reserve":        "backfill plans a job, and machines are requested for it, only when it has waited for so many seconds",
	"bf_job_part_count_reserve": "backfill plans so many jobs of a partition, and machines are requested for no others",
}

// pendingIn checks a partition whose jobs wait pending.
func (j *judge) pendingIn(is slurm.Partition) {
	if j.cfg.Options.Waiting != config.Pending {
		return
	}
	if plans := j.world.Conf.Is.BackfillWindow() - time.Hour; plans > 0 && is.MaxTime.Kind == slurm.LimitSet && is.MaxTime.Duration > plans {
		j.conf(Advice, "PartitionName="+is.Name, "MaxTime is longer than backfill plans ahead (bf_window, less an hour), so jobs of more than %s start on no idle machine; set SchedulerParameters=bf_window=11520,bf_resolution=600", slurm.Clock(plans))
	}
	if after := j.suspendTime(is); after.Kind == slurm.LimitSet && after.Duration < shortestSuspend {
		j.conf(Advice, "PartitionName="+is.Name, "waiting is pending, and Slurm powers down a job's first machines when its last ones register over %.0f s later, or the job waits CONFIGURING for these; set SuspendTime=%.0f or more",
			after.Duration.Seconds(), shortestSuspend.Seconds())
	}
}
