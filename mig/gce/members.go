package gce

import (
	"context"
	"errors"
	"path"
	"strings"

	"slurmflex/mig"
)

// Members reads the managed instances of a group. Our groups list them without pages, so an answer
// with a second page is an error.
func (c *Client) Members(ctx context.Context, region, group string) ([]mig.Member, error) {
	ctx = calling(ctx, "regionInstanceGroupManagers.listManagedInstances")
	list, err := c.rest().RegionInstanceGroupManagers.ListManagedInstances(c.project, region, group).Context(ctx).Do()
	if err == nil && list.NextPageToken != "" {
		err = errors.New("incomplete answer: it has another page")
	}
	if err != nil {
		return nil, failure("list members of", group, reading, err)
	}
	var members []mig.Member
	for _, m := range given(list.ManagedInstances) {
		member := mig.Member{Name: m.Name, Status: m.InstanceStatus, Action: m.CurrentAction}
		if at, _, _ := strings.Cut(m.Instance, "/instances/"); at != "" {
			member.Zone = path.Base(at)
		}
		if member.Name == "" {
			member.Name = path.Base(m.Instance)
		}
		members = append(members, member)
	}
	return members, nil
}
