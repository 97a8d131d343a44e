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
	_, unplanned := conf.Unplanned()
	*s = memory.Settings{
		Settings: scene.Settings{
			Partitions:     partitions,
			ResumeTimeout:  shortest(o.Config, conf.Seconds("ResumeTimeout"), partitions, func(p slurm.Partition) slurm.Limit { return p.ResumeTimeout }),
			SuspendTime:    shortest(o.Config, conf.Seconds("SuspendTime"), partitions, func(p slurm.Partition) slurm.Limit { return p.SuspendTime }),
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

// shortest returns the shortest limit of one kind that is set for flex nodes; 0 if none is. Those of
// partitions that set the limit count, and the cluster's for partitions that do not. For a node in several
// partitions, Slurm uses the longest limit.
func shortest(cfg *config.Config, cluster slurm.Limit, partitions []slurm.Partition, of func(slurm.Partition) slurm.Limit) (least time.Duration) {
	var limits []slurm.Limit
	for _, p := range partitions {
		if slices.ContainsFunc(p.Nodes, func(node string) bool { return cfg.FlexSetOf(node) != nil }) {
			limits = append(limits, of(p))
		}
	}
	if limits == nil {
		limits = []slurm.Limit{cluster}
	}
	for _, l := range limits {
		if l.Kind == slurm.LimitUnknown {
			l = cluster
		}
		if l.Kind == slurm.Unlimited {
			l = slurm.Limit{Kind: slurm.LimitSet, Duration: infinite}
		}
		if l.Kind == slurm.LimitSet && l.Duration > 0 && (least == 0 || l.Duration < least) {
			least = l.Duration
		}
	}
	return least
}
