package gce

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"sync"

	"cloud.google.com/go/compute/apiv1/computepb"
	"golang.org/x/sync/errgroup"

	"slurmflex/mig"
)

// sideBySide bounds the lists of resize requests that are read at once in a
// region.
const sideBySide = 16

// Groups reads the groups that carry our stamp with this cluster's name, with
// all their resize requests. A region of which anything could not be read is
// in unseen, with the reason, and none of its groups are returned.
func (c *Client) Groups(ctx context.Context, cluster string, regions []string) (groups []mig.Group, unseen map[string]error) {
	regions = distinct(regions)
	found := make([][]mig.Group, len(regions))
	errs := make([]error, len(regions))
	var wg sync.WaitGroup
	for i, region := range regions {
		wg.Go(func() { found[i], errs[i] = c.groupsIn(ctx, cluster, region) })
	}
	wg.Wait()
	unseen = make(map[string]error)
	for i, region := range regions {
		if errs[i] != nil {
			unseen[region] = errs[i]
			continue
		}
		groups = append(groups, found[i]...)
	}
	return groups, unseen
}

// groupsIn reads the cluster's groups of one region and their requests.
func (c *Client) groupsIn(ctx context.Context, cluster, region string) ([]mig.Group, error) {
	groups, err := c.listGroups(ctx, cluster, region)
	if err != nil {
		return nil, failure("list groups of", region, reading, err)
	}
	gone := make([]bool, len(groups))
	side, ctx := errgroup.WithContext(ctx)
	side.SetLimit(sideBySide)
	for i := range groups {
		side.Go(func() error {
			requests, err := c.listRequests(ctx, region, groups[i].Name)
			err = failure("list resize requests of", groups[i].Name, reading, err)
			if mig.CauseOf(err) == mig.CauseNotFound {
				gone[i] = true // deleted since the groups were listed
				return nil
			}
			groups[i].Requests = requests
			return err
		})
	}
	if err := side.Wait(); err != nil {
		return nil, err
	}
	var there []mig.Group
	for i, g := range groups {
		if !gone[i] {
			there = append(there, g)
		}
	}
	return there, nil
}

// listGroups reads the cluster's groups of one region, without their requests.
func (c *Client) listGroups(ctx context.Context, cluster, region string) ([]mig.Group, error) {
	var (
		groups []mig.Group
		p      computepb.RegionInstanceGroupManagerList
	)
	ctx = calling(ctx, "regionInstanceGroupManagers.list")
	query := url.Values{"filter": {namesOf(cluster)}}
	err := c.readAll(ctx, collection("regions", region, "instanceGroupManagers"), query, &p, func() error {
		for _, m := range p.GetItems() {
			stamp, ours := mig.ParseStamp(m.GetDescription())
			if !ours || stamp.Cluster != cluster {
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
	return mig.Group{
		Name: m.GetName(), Region: region, Stamp: stamp,
		TargetSize: int(m.GetTargetSize()), Created: created,
	}, nil
}

// collection is the path of a collection below the project.
func collection(parts ...string) string {
	for i, p := range parts {
		parts[i] = url.PathEscape(p)
	}
	return strings.Join(parts, "/")
}
