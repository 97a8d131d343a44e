package gce

import (
	"context"

	rest "google.golang.org/api/compute/v1"

	"slurmflex/mig"
)

// Group reads one group, no matter who created it, and all its resize requests. A missing group is
// an error with mig.CauseNotFound; a group that cannot be understood is an error with another cause.
func (c *Client) Group(ctx context.Context, region, name string) (g mig.Group, err error) {
	m, err := c.readGroup(ctx, region, name)
	if err == nil {
		g, err = groupOf(m, region)
		g.Stamp, _ = mig.ParseStamp(m.Description)
	}
	if err == nil {
		g.Requests, err = c.listRequests(ctx, region, name)
	}
	if err != nil {
		return mig.Group{}, failure("read group", name, reading, err)
	}
	return g, nil
}

// readGroup reads the group's own record.
func (c *Client) readGroup(ctx context.Context, region, name string) (*rest.InstanceGroupManager, error) {
	ctx = calling(ctx, "regionInstanceGroupManagers.get")
	m, err := c.rest().RegionInstanceGroupManagers.Get(c.project, region, name).Context(ctx).Do()
	return m, err
}
