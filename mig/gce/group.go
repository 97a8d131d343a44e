package gce

import (
	"context"
	"errors"

	"slurmflex/mig"
)

// Group reads one group, no matter who created it, and all its resize requests. A missing group is
// an error with mig.CauseNotFound; a group that can be read only in part is an error with another
// cause.
func (c *Client) Group(ctx context.Context, region, name string) (mig.Group, error) {
	const op = "read group"
	p, err := c.readGroup(ctx, region, name)
	if err != nil {
		return mig.Group{}, failure(op, name, reading, err)
	}
	stamp, _ := mig.ParseStamp(p.Description)
	g := groupOf(p, region, stamp, faulty{})
	requests, wrong, err := c.listRequests(ctx, region, name)
	g.Requests = requests
	if wrong != "" {
		g.Unread = wrong
	}
	if err == nil && g.Unread != "" {
		err = errors.New(g.Unread)
	}
	if err != nil {
		return mig.Group{}, failure(op, name, reading, err)
	}
	return g, nil
}

// readGroup reads the group's own record.
func (c *Client) readGroup(ctx context.Context, region, name string) (g listedGroup, err error) {
	path := c.within("regions", region, "instanceGroupManagers", name)
	err = c.get(calling(ctx, "regionInstanceGroupManagers.get"), path, &g)
	return g, err
}
