package observe

import (
	"context"

	"golang.org/x/sync/errgroup"

	"slurmflex/flex/memory"
	"slurmflex/flex/plan/scene"
)

// templates reads each instance template of the flex nodesets once. The next pass reads missing
// templates again.
func (o Observer) templates(ctx context.Context) map[string]scene.Template {
	known := &o.Memory.Templates
	known.Expire(o.Now(), memory.SettingsAge)
	all := map[string]scene.Template{}
	var unread []string
	for _, set := range o.Config.FlexSets() {
		t, _, read := known.Get(set.Template)
		if _, listed := all[set.Template]; !listed && !read {
			unread = append(unread, set.Template)
		}
		all[set.Template] = t
	}
	found := make([]scene.Template, len(unread))
	var side errgroup.Group
	side.SetLimit(callsAtOnce)
	for i, link := range unread {
		side.Go(func() error {
			found[i].Template, found[i].Err = o.Cloud.Template(ctx, link)
			return nil
		})
	}
	_ = side.Wait()
	for i, link := range unread {
		if all[link] = found[i]; found[i].Err == nil {
			known.Note(link, found[i], o.Now())
		}
	}
	return all
}
