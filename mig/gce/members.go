package gce

import (
	"context"
	"errors"
	"net/http"
	"path"
	"strings"

	"slurmflex/mig"
)

// Members reads the managed instances of a group. Our groups list them without pages, so an answer
// with a second page is an error.
func (c *Client) Members(ctx context.Context, region, group string) ([]mig.Member, error) {
	var p struct {
		NextPageToken    string `json:"nextPageToken"`
		ManagedInstances []struct {
			Name           string `json:"name"`
			Instance       string `json:"instance"` // its link
			InstanceStatus string `json:"instanceStatus"`
			CurrentAction  string `json:"currentAction"`
		} `json:"managedInstances"`
	}
	list := c.within("regions", region, "instanceGroupManagers", group, "listManagedInstances")
	err := c.ask(calling(ctx, "regionInstanceGroupManagers.listManagedInstances"), http.MethodPost, list, &p)
	if err == nil && p.NextPageToken != "" {
		err = errors.New("incomplete answer: it has another page")
	}
	if err != nil {
		return nil, failure("list members of", group, reading, err)
	}
	members := make([]mig.Member, len(p.ManagedInstances))
	for i, m := range p.ManagedInstances {
		members[i] = mig.Member{Name: m.Name, Status: m.InstanceStatus, Action: m.CurrentAction}
		if at, _, _ := strings.Cut(m.Instance, "/instances/"); at != "" {
			members[i].Zone = path.Base(at)
		}
		if members[i].Name == "" {
			members[i].Name = path.Base(m.Instance)
		}
	}
	return members, nil
}
