package flex

import (
	"context"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"slurmflex/config"
	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
)

// settingsAge is for how long what rarely changes is taken for read: slurm.conf
// and instance templates.
const settingsAge = 10 * time.Minute

// settings keeps what rarely changes between passes. Passes look one after the
// other, and what Slurm and Compute say is read side by side, so the two halves
// stay apart.
type settings struct {
	templates      map[string]scene.Template // those that could be read
	templatesRead  time.Time
	resumeTimeout  time.Duration // the shortest that Slurm has for nodes of ours; 0: they may power up for ever
	suspendTime    time.Duration // the shortest after which Slurm powers down idle nodes of ours; 0: never
	slurmctldSince time.Time
	partitions     []slurm.Partition
	unread         slurm.Unread // partitions
	private        bool         // PrivateData has jobs or users
	preempts       bool         // see slurm.Config.Preempts
	limited        bool         // Slurm enforces the limits of accounts and QOS
	settingsRead   time.Time
}

// readSettings reads slurm.conf as slurmctld has it, unless that was done of
// late. A process that keeps a cover reads it each time, because the partitions say what it may cover,
// and because the cover's clock starts again with slurmctld.
func (r *Reconciler) readSettings(ctx context.Context) error {
	s := &r.settings
	covers := r.Promises && r.Config.Options.Waiting == config.Pending
	if !covers && !s.settingsRead.IsZero() && age(r.Now(), s.settingsRead) < settingsAge {
		return nil
	}
	conf, err := r.Scheduler.Config(ctx)
	if err != nil {
		return fmt.Errorf("read slurm.conf: %w", err)
	}
	var unread slurm.Unread
	partitions, err := r.Scheduler.Partitions(ctx)
	if err = unread.Take(err); err != nil {
		return fmt.Errorf("read partitions: %w", err)
	}
	s.resumeTimeout = shortest(r.limits(conf.Seconds("ResumeTimeout"), partitions, func(p slurm.Partition) slurm.Limit { return p.ResumeTimeout }))
	s.suspendTime = shortest(r.limits(conf.Seconds("SuspendTime"), partitions, func(p slurm.Partition) slurm.Limit { return p.SuspendTime }))
	s.slurmctldSince, s.preempts = conf.Booted(), conf.Preempts()
	s.limited = slices.Contains(conf.List("AccountingStorageEnforce"), "limits")
	s.partitions, s.unread, s.private, s.settingsRead = partitions, unread, hidesJobs(conf), r.Now()
	return nil
}

// hidesJobs reports whether Slurm keeps jobs, or who their owners are, from
// other users.
func hidesJobs(conf slurm.Config) bool {
	return slices.ContainsFunc(conf.List("PrivateData"), func(word string) bool {
		return word == "jobs" || word == "users"
	})
}

// infinite is what ResumeTimeout=INFINITE means before Slurm 25.05. From there on
// nodes do power up for ever, and a count that starts over does no harm.
const infinite = 65_535 * time.Second

// limits returns the limits of one kind that count for nodes of ours: those of the partitions that
// have any, and the cluster's for a partition without one. Of a node in several partitions Slurm takes
// the longest.
func (r *Reconciler) limits(cluster slurm.Limit, partitions []slurm.Partition, of func(slurm.Partition) slurm.Limit) []slurm.Limit {
	var limits []slurm.Limit
	for _, p := range partitions {
		isOurs := func(node string) bool { return r.Config.FlexSetOf(node) != nil }
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

// shortest is the shortest of the limits that are set; 0 if none is.
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

// templates reads the instance templates of our nodesets, each once. What could
// not be read is asked for again in the next pass.
func (r *Reconciler) templates(ctx context.Context) map[string]scene.Template {
	s := &r.settings
	if age(r.Now(), s.templatesRead) >= settingsAge {
		s.templates, s.templatesRead = map[string]scene.Template{}, r.Now()
	}
	all := map[string]scene.Template{}
	var unread []string
	for _, set := range r.Config.FlexSets() {
		t, read := s.templates[set.Template]
		if _, listed := all[set.Template]; !listed && !read {
			unread = append(unread, set.Template)
		}
		all[set.Template] = t
	}
	found := make([]scene.Template, len(unread))
	var side errgroup.Group
	side.SetLimit(membersAtOnce)
	for i, link := range unread {
		side.Go(func() error {
			found[i].Template, found[i].Err = r.Cloud.Template(ctx, link)
			return nil
		})
	}
	_ = side.Wait()
	for i, link := range unread {
		if all[link] = found[i]; found[i].Err == nil {
			s.templates[link] = found[i]
		}
	}
	return all
}
