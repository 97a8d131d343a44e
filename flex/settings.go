package flex

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"

	"slurmflex/config"
	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
)

// readSettings reads slurm.conf as slurmctld sees it, unless the last reading is recent. A process
// that keeps a cover reads it every time, because the partitions limit what the cover may include,
// and because a restart of slurmctld restarts the cover's clock.
func (r *Reconciler) readSettings(ctx context.Context) error {
	s := &r.memory.Settings
	covers := r.Promises && r.Config.Options.Waiting == config.Pending
	if !covers && s.AreCurrent(r.Now()) {
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
	s.Take(r.Config, conf, partitions, unread, r.Now())
	return nil
}

// templates reads each instance template of the flex nodesets once. The next pass reads missing
// templates again.
func (r *Reconciler) templates(ctx context.Context) map[string]scene.Template {
	known := &r.memory.Templates
	known.Expire(r.Now())
	all := map[string]scene.Template{}
	var unread []string
	for _, set := range r.Config.FlexSets() {
		t, read := known.Of(set.Template)
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
			known.Keep(link, found[i])
		}
	}
	return all
}
