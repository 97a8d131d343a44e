package observe

import (
	"context"
	"fmt"
	"slices"
	"time"

	"slurmflex/config"
	"slurmflex/flex/memory"
	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
)

// readSettings reads slurm.conf as slurmctld sees it, unless the last reading is recent. A process
// that keeps a cover reads it every time, because the partitions limit what the cover may include,
// and because a restart of slurmctld restarts the cover's clock.
func (o Observer) readSettings(ctx context.Context) error {
	s := &o.Memory.Settings
	if !o.covers() && s.AreCurrent(o.Now()) {
		return nil
	}
	conf, err := o.Slurm.Config(ctx)
	if err != nil {
		return fmt.Errorf("read slurm.conf: %w", err)
	}
	var unread slurm.Unread
	partitions, err := o.Slurm.Partitions(ctx)
	if err = unread.Take(err); err != nil {
		return fmt.Errorf("read partitions: %w", err)
	}
	shortestOf := func(option string, of func(slurm.Partition) slurm.Limit) time.Duration {
		return shortest(limits(o.Config, conf.Seconds(option), partitions, of))
	}
	_, unplanned := conf.Unplanned()
	*s = memory.Settings{
		Settings: scene.Settings{
			Partitions:     partitions,
			ResumeTimeout:  shortestOf("ResumeTimeout", func(p slurm.Partition) slurm.Limit { return p.ResumeTimeout }),
			SuspendTime:    shortestOf("SuspendTime", func(p slurm.Partition) slurm.Limit { return p.SuspendTime }),
			SlurmctldSince: conf.Booted(), Unplanned: unplanned, BackfillWindow: conf.BackfillWindow(), Private: hidesJobs(conf),
		},
		Unread: unread, Enforced: conf.List("AccountingStorageEnforce"), Read: o.Now(),
	}
	return nil
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
