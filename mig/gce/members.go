package gce

import (
	"context"
	"errors"
	"net/http"
	"path"

	"cloud.google.com/go/compute/apiv1/computepb"

	"slurmflex/mig"
)

// Members reads the managed instances of a group. Our groups list them without
// pages, so an answer that has another page is not understood.
func (c *Client) Members(ctx context.Context, region, group string) ([]mig.Member, error) {
	var p computepb.RegionInstanceGroupManagersListInstancesResponse
	list := c.within("regions", region, "instanceGroupManagers", group, "listManagedInstances")
	err := c.ask(calling(ctx, "regionInstanceGroupManagers.listManagedInstances"), http.MethodPost, list, nil, &p)
	if err == nil && p.GetNextPageToken() != "" {
		err = errors.New("incomplete answer: it has another page")
	}
	if err != nil {
		return nil, failure("list members of", group, reading, err)
	}
	members := make([]mig.Member, len(p.GetManagedInstances()))
	for i, m := range p.GetManagedInstances() {
		members[i] = mig.Member{Name: m.GetName(), Status: m.GetInstanceStatus(), Action: m.GetCurrentAction()}
		if members[i].Name == "" {
			members[i].Name = path.Base(m.GetInstance())
		}
	}
	return members, nil
}
