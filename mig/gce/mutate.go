package gce

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/compute/apiv1/computepb"
	"google.golang.org/protobuf/proto"

	"slurmflex/mig"
)

// baseNameLimit is the longest baseInstanceName that Compute allows. The name must also conform to
// RFC 1035. Source: discovery document, InstanceGroupManager.
const baseNameLimit = 58

// CreateGroup creates an empty group with the settings that flex-start prescribes and waits until
// it exists. An existing group is an error with mig.CauseExists.
func (c *Client) CreateGroup(ctx context.Context, g mig.GroupSpec) error {
	err := mutate(ctx, c.inRegion(g.Region), "regionInstanceGroupManagers.insert", c.groups.Insert, &computepb.InsertRegionInstanceGroupManagerRequest{
		Project: c.project, Region: g.Region, RequestId: newID(),
		InstanceGroupManagerResource: groupBody(c.project, g),
	})
	err = failure("create group", g.Name, creating, err)
	var taken *mig.Error
	if errors.As(err, &taken) && taken.Cause == mig.CauseExists {
		taken.Owner = c.ownerOf(ctx, g.Region, g.Name)
	}
	return err
}

// ownerOf returns a group's stamp; empty if the group lacks a stamp or cannot be read.
func (c *Client) ownerOf(ctx context.Context, region, group string) mig.Stamp {
	g, err := c.readGroup(ctx, region, group)
	if err != nil {
		return mig.Stamp{}
	}
	stamp, _ := mig.ParseStamp(g.Description)
	return stamp
}

// groupBody returns the group that flex-start prescribes: size 0, a single zone of Compute's
// choice, no redistribution, no repairs, no automatic updates. Source: "Create a MIG with A4 or A3
// Ultra".
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

// CreateRequest creates a resize request in the group and waits until Compute has validated it,
// which may take minutes. An existing request is an error with mig.CauseExists.
func (c *Client) CreateRequest(ctx context.Context, region, group string, r mig.RequestSpec) error {
	defer c.settled.forget(region, group)
	instances := make([]*computepb.PerInstanceConfig, len(r.Instances))
	for i, name := range r.Instances {
		instances[i] = &computepb.PerInstanceConfig{Name: proto.String(name)}
	}
	err := mutate(ctx, c.inRegion(region), "regionInstanceGroupManagerResizeRequests.insert", c.requests.Insert, &computepb.InsertRegionInstanceGroupManagerResizeRequestRequest{
		Project: c.project, Region: region, InstanceGroupManager: group, RequestId: newID(),
		InstanceGroupManagerResizeRequestResource: &computepb.InstanceGroupManagerResizeRequest{
			Name:                 proto.String(r.Name),
			Instances:            instances,
			RequestedRunDuration: &computepb.Duration{Seconds: proto.Int64(int64(r.Duration / time.Second))},
		},
	})
	return failure("create resize request", group+"/"+r.Name, creating, err)
}

// CancelRequest cancels an accepted resize request. Any other state is an error with
// mig.CauseConflict: the next pass reads the final state of an ended request, or cancels a request
// that was still being created.
func (c *Client) CancelRequest(ctx context.Context, region, group, request string) error {
	err := mutate(ctx, c.inRegion(region), "regionInstanceGroupManagerResizeRequests.cancel", c.requests.Cancel, &computepb.CancelRegionInstanceGroupManagerResizeRequestRequest{
		Project: c.project, Region: region, InstanceGroupManager: group, ResizeRequest: request, RequestId: newID(),
	})
	return failure("cancel resize request", group+"/"+request, ending, err)
}

// DeleteRequest deletes the record of an ended resize request and keeps its instances. A request
// that has not ended is an error with mig.CauseConflict.
func (c *Client) DeleteRequest(ctx context.Context, region, group, request string) error {
	defer c.settled.forget(region, group)
	err := mutate(ctx, c.inRegion(region), "regionInstanceGroupManagerResizeRequests.delete", c.requests.Delete, &computepb.DeleteRegionInstanceGroupManagerResizeRequestRequest{
		Project: c.project, Region: region, InstanceGroupManager: group, ResizeRequest: request, RequestId: newID(),
	})
	return failure("delete resize request", group+"/"+request, ending, err)
}

// DeleteInstances deletes any number of instances of the group and skips those that are no longer
// in it. It returns when Compute has scheduled the deletions, or at the first failed call.
func (c *Client) DeleteInstances(ctx context.Context, region, group string, instances []mig.Instance) error {
	for some := range slices.Chunk(instances, mig.MaxInstances) {
		paths := make([]string, len(some))
		for i, in := range some {
			paths[i] = strings.Join([]string{"projects", c.project, "zones", in.Zone, "instances", in.Name}, "/")
		}
		err := mutate(ctx, c.inRegion(region), "regionInstanceGroupManagers.deleteInstances", c.groups.DeleteInstances, &computepb.DeleteInstancesRegionInstanceGroupManagerRequest{
			Project: c.project, Region: region, InstanceGroupManager: group, RequestId: newID(),
			RegionInstanceGroupManagersDeleteInstancesRequestResource: &computepb.RegionInstanceGroupManagersDeleteInstancesRequest{
				Instances:                      paths,
				SkipInstancesOnValidationError: proto.Bool(true),
			},
		})
		if err != nil {
			return failure("delete instances of group", group, ending, err)
		}
	}
	return nil
}

// DeleteGroup deletes the group, its resize requests and its instances, and waits until they are
// gone. While Compute creates a request's instances, DeleteGroup waits until all of them exist:
// cancel the request first.
func (c *Client) DeleteGroup(ctx context.Context, region, group string) error {
	err := mutate(ctx, c.inRegion(region), "regionInstanceGroupManagers.delete", c.groups.Delete, &computepb.DeleteRegionInstanceGroupManagerRequest{
		Project: c.project, Region: region, InstanceGroupManager: group, RequestId: newID(),
	})
	return failure("delete group", group, ending, err)
}
