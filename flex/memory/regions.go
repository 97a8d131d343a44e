package memory

import (
	"maps"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"slurmflex/config"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
)

// Regions remembers the last reading of each region, and the start of each outage. A restart clears
// it.
type Regions struct {
	mu     sync.Mutex
	known  map[string]scene.LastKnown
	unread map[string]outage
	empty  map[string]time.Time // by region without a nodeset: the first reading that showed nothing of ours
}

// leftTime is how long a region without a nodeset must be empty until passes no longer read it. An
// action of a pass before the reload may create something there meanwhile.
const leftTime = 10 * time.Minute

// outage is a period during which a region cannot be read.
type outage struct {
	since time.Time
	err   error // first error with this cause
}

// recall adds the last readings of unreadable regions to a snapshot, and remembers the readings of
// the other regions. As long as the cause of an outage is the same, the snapshot has the same error
// text, so that the log names the outage once.
func (r *Regions) recall(snap *scene.Snapshot, cfg *config.Config) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.known == nil {
		r.known, r.unread, r.empty = map[string]scene.LastKnown{}, map[string]outage{}, map[string]time.Time{}
	}
	all := snap.Regions(cfg)
	maps.DeleteFunc(r.unread, func(region string, _ outage) bool { return !slices.Contains(all, region) })
	snap.LastKnown = map[string]scene.LastKnown{}
	for _, region := range all {
		err := snap.Unseen[region]
		if err == nil {
			r.known[region] = scene.LastKnown{
				At:        snap.Now,
				Groups:    only(snap.Groups, func(g *mig.Group) bool { return g.Region == region }),
				Instances: only(snap.Instances, func(in *mig.Instance) bool { return in.Region == region }),
			}
			continue
		}
		if known, ok := r.known[region]; ok {
			snap.LastKnown[region] = known
		}
		before, lasts := r.unread[region]
		switch {
		case !lasts:
			r.unread[region] = outage{snap.Now, err}
		case mig.CauseOf(before.err) == mig.CauseOf(err):
			snap.Unseen[region] = before.err
		default:
			r.unread[region] = outage{before.since, err}
		}
	}
	r.leave(snap, cfg)
}

// left returns the regions without a nodeset that earlier passes read.
func (r *Regions) left(cfg *config.Config) (regions []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	of := cfg.FlexRegions()
	for region := range r.known {
		if !slices.Contains(of, region) {
			regions = append(regions, region)
		}
	}
	slices.Sort(regions)
	return regions
}

// leave forgets the regions without a nodeset that have been empty for leftTime.
func (r *Regions) leave(snap *scene.Snapshot, cfg *config.Config) {
	if len(snap.Left) == 0 {
		clear(r.empty)
		return
	}
	used := map[string]bool{}
	for i := range snap.Groups {
		used[snap.Groups[i].Region] = true
	}
	for _, in := range snap.Ours(cfg.Cluster) {
		used[in.Region] = true
	}
	maps.DeleteFunc(r.empty, func(region string, _ time.Time) bool { return used[region] || !slices.Contains(snap.Left, region) })
	for _, region := range snap.Left {
		since, was := r.empty[region]
		switch {
		case used[region] || snap.Unseen[region] != nil:
		case !was:
			r.empty[region] = snap.Now
		case age(snap.Now, since) > leftTime:
			delete(r.known, region)
			delete(r.empty, region)
		}
	}
}

// only returns the elements of all that match, in a slice of exact capacity, or all itself if every
// element matches.
func only[T any](all []T, in func(*T) bool) []T {
	n := 0
	for i := range all {
		if in(&all[i]) {
			n++
		}
	}
	if n == len(all) {
		return all
	}
	some := make([]T, 0, n)
	for i := range all {
		if in(&all[i]) {
			some = append(some, all[i])
		}
	}
	return some
}

// Report logs the regions that can be read again.
func (r *Regions) Report(log *zap.Logger, snap scene.Snapshot) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, region := range slices.Sorted(maps.Keys(r.unread)) {
		if snap.Unseen[region] == nil {
			log.Info("region "+region+" is read again", zap.Duration("after", snap.Now.Sub(r.unread[region].since)))
			delete(r.unread, region)
		}
	}
}
