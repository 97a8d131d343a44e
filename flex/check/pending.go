package check

import (
	"time"

	"slurmflex/config"
	"slurmflex/flex/plan/memo"
	"slurmflex/flex/slurmconf"
	"slurmflex/slurm"
)

// pending checks the settings for jobs that wait pending.
func (j *judge) pending(version slurm.Version) {
	j.covers()
	if j.cfg.Options.Waiting != config.Pending {
		return
	}
	if j.world.Conf.Is.Preempts() {
		j.conf(Advice, "PreemptType", "%s: jobs wait CONFIGURING and not PENDING, because jobs that wait PENDING would preempt others; if you want that, set waiting: configuring",
			j.world.Conf.Is["PreemptType"])
	}
	j.backfill()
	for _, is := range j.world.Partitions.Is {
		p, known := j.cfg.Partition(is.Name)
		if !known || !j.cfg.IsOurs(*p) {
			continue
		}
		if after, known := j.suspendTime(version, is); known && after.Kind == slurm.LimitSet && after.Duration < slurmconf.ShortestSuspend {
			j.record(Advice, "PartitionName", is.Name, "waiting is pending, and Slurm powers down a job's first machines when its last ones register over %.0f s later, or the job waits CONFIGURING for these; set SuspendTime=%.0f or more",
				after.Duration.Seconds(), slurmconf.ShortestSuspend.Seconds())
		}
	}
}

// backfill checks that Slurm plans jobs, and often and far enough: slurmflex requests what backfill
// has planned.
func (j *judge) backfill() {
	conf := j.world.Conf.Is
	window := conf.BackfillWindow()
	if window == 0 {
		j.conf(Advice, "SchedulerType", "%s: jobs wait CONFIGURING and not PENDING, because only sched/backfill plans jobs; set it, or waiting: configuring", conf["SchedulerType"])
		return
	}
	if interval := conf.BackfillInterval(); interval > time.Minute {
		j.conf(Advice, "SchedulerParameters", "bf_interval=%.0f: machines for a waiting job are requested once backfill has planned it, up to %s after its submission; set bf_interval=30", interval.Seconds(), slurm.Clock(interval))
	}
	for _, is := range j.world.Partitions.Is {
		p, known := j.cfg.Partition(is.Name)
		if known && j.cfg.IsOurs(*p) && is.MaxTime.Kind == slurm.LimitSet && is.MaxTime.Duration > window-time.Hour {
			j.record(Advice, "PartitionName", is.Name, "MaxTime is longer than backfill plans ahead (bf_window, less an hour), so jobs of more than %s start on no idle machine; set SchedulerParameters=bf_window=11520,bf_resolution=600", slurm.Clock(window-time.Hour))
		}
	}
}

// covers checks for reservations over powered-down nodes that no daemon maintains.
func (j *judge) covers() {
	if j.world.Reserved.Err != nil {
		j.say(Unread, "slurmflex.waiting", "%v", j.world.Reserved.Err)
	}
	for _, r := range j.world.Reserved.Is {
		raised := memo.CoverRaised(r.Start.Add(r.Purge()), j.cfg.Options.PendingGrace)
		if memo.ParseHold(j.cfg.Cluster, r.Name).Kind == memo.CoverHold && j.world.At.Sub(raised) > memo.CoverAbandoned+j.cfg.Options.Interval {
			j.say(Fault, "slurmflex.waiting", "reservation %s keeps jobs from powered-down nodes, and no daemon has kept it up since %s; start the daemon, or delete the reservation",
				r.Name, raised.UTC().Format("15:04:05"))
		}
	}
}
