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

// settingsAge is how long slurm.conf and instance templates, which rarely change, count as current.
const settingsAge = 10 * time.Minute

// settings caches rarely changing data between passes. Passes look one after the other. Within a
// pass, Slurm and Compute are read in parallel, so the data of the two are in separate fields.
type settings struct {
	templates     map[string]scene.Template // templates that could be read
	templatesRead time.Time
	// resumeTimeout is the shortest ResumeTimeout of flex nodes; 0: nodes may power up forever.
	resumeTimeout time.Duration
	// suspendTime is the shortest SuspendTime of flex nodes; 0: Slurm never powers them down.
	suspendTime    time.Duration
	slurmctldSince time.Time
	partitions     []slurm.Partition
	unread         slurm.Unread // rows of partitions
	private        bool         // PrivateData includes jobs or users
	preempts       bool         // see slurm.Config.Preempts
	limited        bool         // Slurm enforces the limits of accounts and QOS
	settingsRead   time.Time
}

// readSettings reads slurm.conf as slurmctld sees it, unless the last reading is recent. A process
// that keeps a cover reads it every time, because the partitions limit what the cover may include,
// and because a restart of slurmctld restarts the cover's clock.
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

// templates reads each instance template of the flex nodesets once. The next pass reads missing
// templates again.
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
