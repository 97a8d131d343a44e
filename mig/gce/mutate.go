package gce

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	compute "cloud.google.com/go/compute/apiv1"
	"cloud.google.com/go/compute/apiv1/computepb"
	"google.golang.org/protobuf/proto"

	"slurmflex/mig"
)

// baseNameLimit is the length that Compute allows for baseInstanceName, which
// must be a name as of RFC 1035 too. Source: discovery document,
// InstanceGroupManager.
const baseNameLimit = 58

// CreateGroup makes an empty group as flex-start prescribes it and waits until
// it exists. That it exists already is an error with mig.CauseExists.
func (c *Client) CreateGroup(ctx context.Context, g mig.GroupSpec) error {
	err := mutate(ctx, c.inRegion(g.Region), "regionInstanceGroupManagers.insert", func(ctx context.Context, id *string) (*compute.Operation, error) {
		return c.groups.Insert(ctx, &computepb.InsertRegionInstanceGroupManagerRequest{
			Project: c.project, Region: g.Region, RequestId: id,
			InstanceGroupManagerResource: groupBody(c.project, g),
		})
	})
	err = failure("create group", g.Name, creating, err)
	var taken *mig.Error
	if errors.As(err, &taken) && taken.Cause == mig.CauseExists {
		taken.Owner = c.ownerOf(ctx, g.Region, g.Name)
	}
	return err
}

// ownerOf is the cluster whose stamp a group has; empty if it has none, or cannot
// be read.
func (c *Client) ownerOf(ctx context.Context, region, group string) string {
	g, err := c.readGroup(ctx, region, group)
	if err != nil {
		return ""
	}
	stamp, _ := mig.ParseStamp(g.Description)
	return stamp.Cluster
}

// groupBody is the group as flex-start prescribes it: size 0, one zone of its
// choice, nothing moved, nothing repaired, nothing updated by itself. Source:
// "Create a MIG with A4 or A3 Ultra".
func groupBody(project string, g mig.GroupSpec) *computepb.InstanceGroupManager {
	zones := make([]*computepb.DistributionPolicyZoneConfiguration, len(g.Zones))
	for i, z := range g.Zones {
		zones[i] = &computepb.DistributionPolicyZoneConfiguration{Zone: proto.String("projects/" + project + "/zones/" + z)}
	}
	body := &computepb.InstanceGroupManager{
		Name:             proto.String(g.Name),
		Description:      proto.String(g.Stamp.String()),
		BaseInstanceName: proto.String(strings.TrimRight(g.Name[:min(len(g.Name), baseNameLimit)], "-")),
		TargetSize:       proto.Int32(0),
		Versions:         []*computepb.InstanceGroupManagerVersion{{InstanceTemplate: proto.String(g.Template)}},
		DistributionPolicy: &computepb.DistributionPolicy{
			TargetShape: proto.String("ANY_SINGLE_ZONE"),
			Zones:       zones,
		},
		UpdatePolicy: &computepb.InstanceGroupManagerUpdatePolicy{
			Type:                       proto.String("OPPORTUNISTIC"),
			InstanceRedistributionType: proto.String("NONE"),
		},
		InstanceLifecyclePolicy: &computepb.InstanceGroupManagerInstanceLifecyclePolicy{
			DefaultActionOnFailure: proto.String("DO_NOTHING"),
		},
	}
	if g.Policy != "" {
		path := strings.Join([]string{"projects", project, "regions", g.Region, "resourcePolicies", g.Policy}, "/")
		body.ResourcePolicies = &computepb.InstanceGroupManagerResourcePolicies{WorkloadPolicy: proto.String(path)}
	}
	return body
}

// CreateRequest makes a resize request in the group and waits until Compute
// has looked it over, which may take minutes. That it exists already is an
// error with mig.CauseExists.
func (c *Client) CreateRequest(ctx context.Context, region, group string, r mig.RequestSpec) error {
	defer c.settled.forget(region, group)
	instances := make([]*computepb.PerInstanceConfig, len(r.Instances))
	for i, name := range r.Instances {
		instances[i] = &computepb.PerInstanceConfig{Name: proto.String(name)}
	}
	err := mutate(ctx, c.inRegion(region), "regionInstanceGroupManagerResizeRequests.insert", func(ctx context.Context, id *string) (*compute.Operation, error) {
		return c.requests.Insert(ctx, &computepb.InsertRegionInstanceGroupManagerResizeRequestRequest{
			Project: c.project, Region: region, InstanceGroupManager: group, RequestId: id,
			InstanceGroupManagerResizeRequestResource: &computepb.InstanceGroupManagerResizeRequest{
				Name:                 proto.String(r.Name),
				Instances:            instances,
				RequestedRunDuration: &computepb.Duration{Seconds: proto.Int64(int64(r.Duration / time.Second))},
			},
		})
	})
	return failure("create resize request", group+"/"+r.Name, creating, err)
}

// CancelRequest cancels a resize request that is accepted. In any other state
// it is an error with mig.CauseConflict: a request that has ended is read as
// such in the next pass, and one that is still being created is cancelled then.
func (c *Client) CancelRequest(ctx context.Context, region, group, request string) error {
	err := mutate(ctx, c.inRegion(region), "regionInstanceGroupManagerResizeRequests.cancel", func(ctx context.Context, id *string) (*compute.Operation, error) {
		return c.requests.Cancel(ctx, &computepb.CancelRegionInstanceGroupManagerResizeRequestRequest{
			Project: c.project, Region: region, InstanceGroupManager: group, ResizeRequest: request, RequestId: id,
		})
	})
	return failure("cancel resize request", group+"/"+request, ending, err)
}

// DeleteRequest takes a resize request that has ended off Compute's records; its
// instances stay. One that has not ended is an error with mig.CauseConflict.
func (c *Client) DeleteRequest(ctx context.Context, region, group, request string) error {
	defer c.settled.forget(region, group)
	err := mutate(ctx, c.inRegion(region), "regionInstanceGroupManagerResizeRequests.delete", func(ctx context.Context, id *string) (*compute.Operation, error) {
		return c.requests.Delete(ctx, &computepb.DeleteRegionInstanceGroupManagerResizeRequestRequest{
			Project: c.project, Region: region, InstanceGroupManager: group, ResizeRequest: request, RequestId: id,
		})
	})
	return failure("delete resize request", group+"/"+request, ending, err)
}

// DeleteInstances deletes instances of the group, any number of them; those
// that are no longer in it are passed over. It returns when Compute has
// scheduled the deletions, and at the first call that fails.
func (c *Client) DeleteInstances(ctx context.Context, region, group string, instances []mig.Instance) error {
	for some := range slices.Chunk(instances, mig.MaxInstances) {
		paths := make([]string, len(some))
		for i, in := range some {
			paths[i] = strings.Join([]string{"projects", c.project, "zones", in.Zone, "instances", in.Name}, "/")
		}
		err := mutate(ctx, c.inRegion(region), "regionInstanceGroupManagers.deleteInstances", func(ctx context.Context, id *string) (*compute.Operation, error) {
			return c.groups.DeleteInstances(ctx, &computepb.DeleteInstancesRegionInstanceGroupManagerRequest{
				Project: c.project, Region: region, InstanceGroupManager: group, RequestId: id,
				RegionInstanceGroupManagersDeleteInstancesRequestResource: &computepb.RegionInstanceGroupManagersDeleteInstancesRequest{
					Instances:                      paths,
					SkipInstancesOnValidationError: proto.Bool(true),
				},
			})
		})
		if err != nil {
			return failure("delete instances of group", group, ending, err)
		}
	}
	return nil
}

// DeleteGroup deletes the group, its resize requests and its instances, and
// waits until they are gone. While Compute creates instances for a request,
// that is not before all of them exist: cancel the request first.
func (c *Client) DeleteGroup(ctx context.Context, region, group string) error {
	err := mutate(ctx, c.inRegion(region), "regionInstanceGroupManagers.delete", func(ctx context.Context, id *string) (*compute.Operation, error) {
		return c.groups.Delete(ctx, &computepb.DeleteRegionInstanceGroupManagerRequest{
			Project: c.project, Region: region, InstanceGroupManager: group, RequestId: id,
		})
	})
	return failure("delete group", group, ending, err)
}
