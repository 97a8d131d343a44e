package gce

import (
	"context"
	"errors"
	"net/url"
	"path"
	"slices"
	"time"

	"cloud.google.com/go/compute/apiv1/computepb"
	"golang.org/x/sync/errgroup"

	"slurmflex/mig"
)

// sideBySide bounds the lists of resize requests that are read at once in a
// region, and the instances that are deleted at once.
const sideBySide = 16

// Groups reads the groups that carry our stamp with this cluster's name, those
// of a newer program too, with all their resize requests; those of settled
// groups are not read each time. A region of which anything could not be read
// is in unseen, with the reason, and none of its groups are returned.
func (c *Client) Groups(ctx context.Context, cluster string, regions []string) (groups []mig.Group, unseen map[string]error) {
	return perRegion(regions, func(region string) ([]mig.Group, error) {
		return c.groupsIn(ctx, cluster, region, &c.settled, func(m *computepb.InstanceGroupManager) (mig.Stamp, bool) {
			stamp, ours := mig.ParseStamp(m.GetDescription())
			return stamp, ours && stamp.Cluster == cluster
		})
	})
}

// Foreign reads the groups that slurm-gcp has left for the cluster: those that have
// a name of its pattern and no description, which it does not write, and whose
// instance template has its label of this cluster: names of two clusters may look
// alike. They have no stamp; whether their nodeset is one of this cluster's, as
// mig.ParseForeign tells it, is for the caller to see. A region of which
// anything could not be read is in unseen, as with Groups.
func (c *Client) Foreign(ctx context.Context, cluster string, regions []string) (groups []mig.Group, unseen map[string]error) {
	return perRegion(regions, func(region string) ([]mig.Group, error) {
		groups, err := c.groupsIn(ctx, cluster, region, new(settled), func(m *computepb.InstanceGroupManager) (mig.Stamp, bool) {
			_, _, foreign := mig.ParseForeign(cluster, m.GetName())
			return mig.Stamp{}, foreign && m.GetDescription() == ""
		})
		if err != nil {
			return nil, err
		}
		return c.labelled(ctx, cluster, groups)
	})
}

// clusterLabel is slurm-gcp's label for the cluster, on its templates and machines.
const clusterLabel = "slurm_cluster_name"

// labelled are the groups whose template has slurm-gcp's label of the cluster.
func (c *Client) labelled(ctx context.Context, cluster string, groups []mig.Group) (ours []mig.Group, err error) {
	templates := map[string]mig.Template{}
	for _, g := range groups {
		t, read := templates[g.Template]
		if !read && g.Template != "" {
			if t, err = c.Template(ctx, g.Template); err != nil {
				return nil, err
			}
			templates[g.Template] = t
		}
		if t.Labels[clusterLabel] == cluster {
			ours = append(ours, g)
		}
	}
	return ours, nil
}

// selection says whether a group is one of those that are read, and which stamp
// it has.
type selection func(*computepb.InstanceGroupManager) (mig.Stamp, bool)

// groupsIn reads the selected groups of one region and their requests.
func (c *Client) groupsIn(ctx context.Context, cluster, region string, known *settled, selected selection) ([]mig.Group, error) {
	begun := time.Now()
	groups, err := c.listGroups(ctx, cluster, region, selected)
	if err != nil {
		return nil, failure("list groups of", region, reading, err)
	}
	missing := make([]bool, len(groups)) // deleted since they were listed, or not read
	side, ctx := errgroup.WithContext(ctx)
	side.SetLimit(sideBySide)
	for i := range groups {
		requests, settled := known.requestsOf(groups[i], begun)
		if settled {
			groups[i].Requests = requests
			continue
		}
		missing[i] = true
		side.Go(func() error {
			requests, err := c.listRequests(ctx, region, groups[i].Name)
			if err == nil {
				groups[i].Requests, missing[i] = requests, false
				return nil
			}
			err = failure("list resize requests of", groups[i].Name, reading, err)
			if mig.CauseOf(err) == mig.CauseNotFound {
				return nil
			}
			return err
		})
	}
	err = side.Wait()
	var there []mig.Group
	for i, g := range groups {
		if !missing[i] {
			there = append(there, g)
		}
	}
	known.note(region, there, begun) // after an error too: the next look goes on from there
	if err != nil {
		return nil, err
	}
	return there, nil
}

// listGroups reads the selected groups of one region, without their requests.
func (c *Client) listGroups(ctx context.Context, cluster, region string, selected selection) ([]mig.Group, error) {
	var (
		groups []mig.Group
		p      computepb.RegionInstanceGroupManagerList
	)
	ctx = calling(ctx, "regionInstanceGroupManagers.list")
	query := url.Values{"filter": {namesOf(cluster)}}
	err := c.readAll(ctx, escaped("regions", region, "instanceGroupManagers"), query, &p, func() error {
		for _, m := range p.GetItems() {
			stamp, ok := selected(m)
			if !ok {
				continue
			}
			g, err := groupOf(m, region, stamp)
			if err != nil {
				return err
			}
			groups = append(groups, g)
		}
		return nil
	})
	return groups, err
}

func groupOf(m *computepb.InstanceGroupManager, region string, stamp mig.Stamp) (mig.Group, error) {
	if m.GetName() == "" || m.TargetSize == nil {
		return mig.Group{}, errors.New("a group without name or target size")
	}
	created, err := timestamp("creation of group "+m.GetName(), m.GetCreationTimestamp())
	if err != nil {
		return mig.Group{}, err
	}
	g := mig.Group{
		Name: m.GetName(), Region: region, Stamp: stamp, Template: templateOfGroup(m), Zones: zonesOfGroup(m),
		TargetSize: int(m.GetTargetSize()), Creating: int(m.GetCurrentActions().GetCreating()), Created: created,
	}
	if policy := m.GetResourcePolicies().GetWorkloadPolicy(); policy != "" {
		g.Policy = path.Base(policy)
	}
	return g, nil
}

// templateOfGroup is the template that the group makes instances from, from behind
// its project on, which has a name and a number; empty if it has no one template.
func templateOfGroup(m *computepb.InstanceGroupManager) string {
	if len(m.GetVersions()) != 1 {
		return ""
	}
	parts := templateLink.FindStringSubmatch(m.GetVersions()[0].GetInstanceTemplate())
	if parts == nil {
		return ""
	}
	return parts[2]
}

func zonesOfGroup(m *computepb.InstanceGroupManager) []string {
	var zones []string
	for _, z := range m.GetDistributionPolicy().GetZones() {
		zones = append(zones, path.Base(z.GetZone()))
	}
	slices.Sort(zones)
	return zones
}
