package memory

import (
	"slices"
	"time"

	"slurmflex/config"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
)

// leftTime is how long a region must have been without nodesets and empty until passes no longer read
// it. An action of a pass before the reload may create something there meanwhile.
const leftTime = 10 * time.Minute

// addLastKnown adds the last readings of unreadable regions to a snapshot, and remembers the readings
// of the other regions. As long as the cause of an outage is the same, the snapshot has the same
// error text, so that the log names the outage once.
func (m *Memory) addLastKnown(snap *scene.Snapshot, cfg *config.Config) {
	all := snap.Regions(cfg)
	m.outages.keep(func(region string, _ *noted[error]) bool { return slices.Contains(all, region) })
	snap.LastKnown = map[string]scene.LastKnown{}
	for _, region := range all {
		err := snap.Unseen[region]
		if err == nil {
			m.noteRegion(region, snap, cfg)
			continue
		}
		if known, _, was := m.regions.Get(region); was {
			known.Groups = slices.DeleteFunc(slices.Clone(known.Groups), func(g mig.Group) bool { return g.Region != region })
			known.Instances = slices.DeleteFunc(slices.Clone(known.Instances), func(in mig.Instance) bool { return in.Region != region })
			snap.LastKnown[region] = known
		}
		before, _, lasts := m.outages.Get(region)
		switch {
		case !lasts:
			m.outages.Note(region, err, snap.Now)
		case mig.CauseOf(before) == mig.CauseOf(err):
			snap.Unseen[region] = before
		default:
			m.outages.Replace(region, err)
		}
	}
}

// noteRegion remembers the reading of a region, in lists that all regions of a pass share. It forgets a
// region without a nodeset that has been empty for leftTime.
func (m *Memory) noteRegion(region string, snap *scene.Snapshot, cfg *config.Config) {
	known := scene.LastKnown{At: snap.Now, Groups: snap.Groups, Instances: snap.Instances}
	_, used, _ := m.regions.Get(region)
	switch {
	case !slices.Contains(snap.Left, region) || isUsed(region, snap, cfg):
		m.regions.Note(region, known, snap.Now)
	case age(snap.Now, used) > leftTime:
		m.regions.Forget(region)
	default:
		m.regions.Replace(region, known)
	}
}

// isUsed reports whether a region has a group or a machine of the cluster.
func isUsed(region string, snap *scene.Snapshot, cfg *config.Config) bool {
	for _, in := range snap.Ours(cfg.Cluster) {
		if in.Region == region {
			return true
		}
	}
	return slices.ContainsFunc(snap.Groups, func(g mig.Group) bool { return g.Region == region })
}

// left returns the regions without a nodeset that earlier passes read.
func (m *Memory) left(cfg *config.Config) (regions []string) {
	of := cfg.FlexRegions()
	for region := range m.regions.All() {
		if !slices.Contains(of, region) {
			regions = append(regions, region)
		}
	}
	slices.Sort(regions)
	return regions
}
