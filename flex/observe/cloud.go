package observe

import (
	"context"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"slurmflex/config"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// observeMachines reads the groups first and the instances second, so that the list has every
// machine that a request has created. It records the regions that could not be read, and returns the
// time on Compute's clock.
func (o Observer) observeMachines(ctx context.Context, snap *scene.Snapshot) (compute dated) {
	var unseenGroups, unseenInstances map[string]error
	regions := snap.Regions(o.Config)
	snap.Groups, unseenGroups = o.Cloud.Groups(ctx, o.Config.Cluster, regions)
	if len(unseenGroups) < len(regions) {
		snap.Instances, unseenInstances = o.Cloud.Instances(ctx, o.Config.Cluster, regions, zonesOf(o.Config, snap.Groups)...)
		if len(unseenInstances) < len(regions) {
			compute = dated{o.Cloud.Date(), time.Now()}
		}
	}
	maps.Copy(snap.Unseen, unseenInstances)
	maps.Copy(snap.Unseen, unseenGroups)
	snap.Members = o.members(ctx, snap.Miscounted(snap.Groups), snap.Unseen)
	for id, members := range snap.Members {
		for i := range snap.Instances {
			in := &snap.Instances[i]
			if in.Group == "" && slices.ContainsFunc(members.All, func(m mig.Member) bool { return m.Name == in.Name && m.Zone == in.Zone }) {
				in.Group = id.Name // its metadata was replaced
			}
		}
	}
	return compute
}

// doubt reads a region again if an instance is missing there: an instance of a node that is up or,
// in the first pass, of a node that is powering up. The instance may be in an unreadable zone that
// is no longer configured. Only a list without zones reports such a zone.
func (o Observer) doubt(ctx context.Context, snap *scene.Snapshot) {
	there := make(map[string]bool, len(snap.Instances))
	for i := range snap.Instances {
		there[snap.Instances[i].Name] = true
	}
	first := snap.Started.Equal(snap.Begun)
	doubtful := map[string]bool{}
	for _, n := range snap.Nodes {
		power := n.State.Power()
		if there[n.Name] || n.State.Base == slurm.Down || power != slurm.On && (power != slurm.Rising || !first) {
			continue
		}
		if set, _, known := o.Config.Find(n.Name); known && set.Flex != nil && set.Flex.UseBulkInsert && snap.Unseen[set.Region] == nil {
			doubtful[set.Region] = true
		}
	}
	if len(doubtful) == 0 {
		return
	}
	cloud, over := inTime(ctx)
	defer over()
	_, unseen := o.Cloud.Instances(cloud, o.Config.Cluster, slices.Sorted(maps.Keys(doubtful)))
	maps.Copy(snap.Unseen, unseen)
}

// zonesOf returns the zones that may have instances of the cluster: those of its nodesets and of
// existing groups. It omits the region of a group with unknown zones, so that the region is read
// as a whole.
func zonesOf(cfg *config.Config, groups []mig.Group) []string {
	var zones []string
	for _, set := range cfg.FlexSets() {
		zones = append(zones, set.Zones...)
	}
	unclear := map[string]bool{}
	for _, g := range groups {
		zones = append(zones, g.Zones...)
		unclear[g.Region] = unclear[g.Region] || len(g.Zones) == 0
	}
	slices.Sort(zones)
	return slices.DeleteFunc(slices.Compact(zones), func(zone string) bool { return unclear[mig.RegionOf(zone)] })
}

// dated is a time from Compute's clock, and the local time of its reading, from a clock that does
// not jump.
type dated struct{ date, at time.Time }

// skew returns how far now is ahead of Compute's clock, even if this host's clock was set after the
// reading. It returns zero without a reading.
func (d dated) skew(now time.Time) time.Duration {
	if d.date.IsZero() {
		return 0
	}
	return now.Sub(d.date) - time.Since(d.at)
}

// finish drops partial readings of regions, because decisions need a complete one, and records the time.
func (o Observer) finish(snap *scene.Snapshot, compute dated) {
	snap.Groups = slices.DeleteFunc(snap.Groups, func(g mig.Group) bool { return snap.Unseen[g.Region] != nil })
	snap.Instances = slices.DeleteFunc(snap.Instances, func(in mig.Instance) bool { return snap.Unseen[in.Region] != nil })
	snap.Now = o.Now()
	snap.Skew = compute.skew(snap.Now)
}

// members lists the members of miscounted groups, except in regions with unreadable instances.
func (o Observer) members(ctx context.Context, groups []mig.Group, unseen map[string]error) map[mig.GroupID]scene.Members {
	asked := slices.DeleteFunc(groups, func(g mig.Group) bool { return unseen[g.Region] != nil })
	found := make([]scene.Members, len(asked))
	var side errgroup.Group
	side.SetLimit(callsAtOnce)
	for i, g := range asked {
		side.Go(func() error {
			found[i].All, found[i].Err = o.Cloud.Members(ctx, g.Region, g.Name)
			return nil
		})
	}
	_ = side.Wait()
	members := make(map[mig.GroupID]scene.Members, len(asked))
	for i, g := range asked {
		members[g.ID()] = found[i]
	}
	return members
}

// observePolicies reads the workload policies. The call needs its own permission, which a project
// without placement may lack.
func (o Observer) observePolicies(ctx context.Context, snap *scene.Snapshot) {
	snap.Policies, snap.UnseenPolicies = o.Cloud.Policies(ctx, o.Config.Cluster, snap.Regions(o.Config))
	if !o.places() {
		maps.DeleteFunc(snap.UnseenPolicies, func(_ string, err error) bool { return mig.CauseOf(err) == mig.CausePermission })
	}
}

// places reports whether any nodeset requires its nodes to be close together.
func (o Observer) places() bool {
	return slices.ContainsFunc(o.Config.FlexSets(), func(n *config.NodeSet) bool { return n.Placement })
}
