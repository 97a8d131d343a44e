package memory

import (
	"slices"
	"time"

	"slurmflex/config"
	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
)

// SettingsAge is how long slurm.conf and instance templates, which rarely change, count as current.
const SettingsAge = 10 * time.Minute

// Settings is what the last reading of slurm.conf says about the passes. Only passes use it, one
// after the other.
type Settings struct {
	Unread  slurm.Unread // rows of partitions
	Limited bool         // Slurm enforces the limits of accounts and QOS

	// resumeTimeout is the shortest ResumeTimeout of flex nodes; 0: nodes may power up forever.
	resumeTimeout time.Duration
	// suspendTime is the shortest SuspendTime of flex nodes; 0: Slurm never powers them down.
	suspendTime    time.Duration
	slurmctldSince time.Time
	partitions     []slurm.Partition
	private        bool          // PrivateData includes jobs or users
	preempts       bool          // see slurm.Config.Preempts
	backfillWindow time.Duration // see slurm.Config.BackfillWindow
	read           time.Time
}

// AreCurrent reports whether the last reading is recent.
func (s *Settings) AreCurrent(now time.Time) bool {
	return !s.read.IsZero() && age(now, s.read) < SettingsAge
}

// Take replaces the settings by a new reading.
func (s *Settings) Take(cfg *config.Config, conf slurm.Config, partitions []slurm.Partition, unread slurm.Unread, now time.Time) {
	*s = Settings{
		Unread: unread, Limited: slices.Contains(conf.List("AccountingStorageEnforce"), "limits"),
		resumeTimeout:  shortest(limits(cfg, conf.Seconds("ResumeTimeout"), partitions, func(p slurm.Partition) slurm.Limit { return p.ResumeTimeout })),
		suspendTime:    shortest(limits(cfg, conf.Seconds("SuspendTime"), partitions, func(p slurm.Partition) slurm.Limit { return p.SuspendTime })),
		slurmctldSince: conf.Booted(), partitions: partitions, private: hidesJobs(conf), preempts: conf.Preempts(),
		backfillWindow: conf.BackfillWindow(), read: now,
	}
}

// add adds the settings to a snapshot.
func (s *Settings) add(snap *scene.Snapshot) {
	snap.ResumeTimeout, snap.SuspendTime, snap.SlurmctldSince = s.resumeTimeout, s.suspendTime, s.slurmctldSince
	snap.Partitions, snap.Private, snap.Preempts, snap.BackfillWindow = s.partitions, s.private, s.preempts, s.backfillWindow
}

// hidesJobs reports whether Slurm hides jobs, or their owners, from other users.
func hidesJobs(conf slurm.Config) bool {
	return slices.ContainsFunc(conf.List("PrivateData"), func(word string) bool {
		return word == "jobs" || word == "users"
	})
}

// infinite is the meaning of ResumeTimeout=INFINITE before Slurm 25.05. From 25.05 on, nodes can
// power up forever, and a count that starts over does no harm.
const infinite = 65_535 * time.Second

// limits returns the limits of one kind that apply to flex nodes: those of partitions that set the
// limit, and the cluster's limit for partitions that do not. For a node in several partitions,
// Slurm uses the longest limit.
func limits(cfg *config.Config, cluster slurm.Limit, partitions []slurm.Partition, of func(slurm.Partition) slurm.Limit) []slurm.Limit {
	var limits []slurm.Limit
	for _, p := range partitions {
		isOurs := func(node string) bool { return cfg.FlexSetOf(node) != nil }
		switch ours := slices.ContainsFunc(p.Nodes, isOurs); {
		case ours && of(p).Kind == slurm.LimitUnknown:
			limits = append(limits, cluster)
		case ours:
			limits = append(limits, of(p))
		}
	}
	if limits == nil {
		return []slurm.Limit{cluster}
	}
	return limits
}

// shortest returns the shortest of the limits that are set; 0 if none is.
func shortest(limits []slurm.Limit) time.Duration {
	var least time.Duration
	for _, l := range limits {
		if l.Kind == slurm.Unlimited {
			l = slurm.Limit{Kind: slurm.LimitSet, Duration: infinite}
		}
		if l.Kind == slurm.LimitSet && l.Duration > 0 && (least == 0 || l.Duration < least) {
			least = l.Duration
		}
	}
	return least
}
