package gce

import (
	"context"
	"errors"
	"net/url"

	compute "cloud.google.com/go/compute/apiv1"
	"cloud.google.com/go/compute/apiv1/computepb"
	"google.golang.org/protobuf/proto"

	"slurmflex/mig"
)

// Policies reads the workload policies that carry our stamp with this
// cluster's name. A region of which anything could not be read is in unseen,
// with the reason, and none of its policies are returned.
func (c *Client) Policies(ctx context.Context, cluster string, regions []string) (policies []mig.Policy, unseen map[string]error) {
	return perRegion(regions, func(region string) ([]mig.Policy, error) {
		policies, err := c.listPolicies(ctx, cluster, region)
		if err != nil {
			return nil, failure("list workload policies of", region, reading, err)
		}
		return policies, nil
	})
}

func (c *Client) listPolicies(ctx context.Context, cluster, region string) ([]mig.Policy, error) {
	var (
		policies []mig.Policy
		p        computepb.ResourcePolicyList
	)
	ctx = calling(ctx, "resourcePolicies.list")
	query := url.Values{"filter": {namesOf(cluster)}}
	err := c.readAll(ctx, escaped("regions", region, "resourcePolicies"), query, &p, func() error {
		for _, m := range p.GetItems() {
			stamp, ours := mig.ParseStamp(m.GetDescription())
			if !ours || stamp.Cluster != cluster || stamp.Newer() {
				continue
			}
			policy, err := policyOf(m, region, stamp)
			if err != nil {
				return err
			}
			policies = append(policies, policy)
		}
		return nil
	})
	return policies, err
}

func policyOf(m *computepb.ResourcePolicy, region string, stamp mig.Stamp) (mig.Policy, error) {
	if m.GetName() == "" {
		return mig.Policy{}, errors.New("a workload policy without name")
	}
	created, err := timestamp("creation of workload policy "+m.GetName(), m.GetCreationTimestamp())
	if err != nil {
		return mig.Policy{}, err
	}
	return mig.Policy{
		Name: m.GetName(), Region: region, Stamp: stamp,
		Distance: m.GetWorkloadPolicy().GetMaxTopologyDistance(), Created: created,
	}, nil
}

// CreatePolicy makes a workload policy and waits until it exists. That it
// exists already is an error with mig.CauseExists.
func (c *Client) CreatePolicy(ctx context.Context, p mig.PolicySpec) error {
	workload := &computepb.ResourcePolicyWorkloadPolicy{Type: proto.String("HIGH_THROUGHPUT")}
	if p.Distance != "" {
		workload.MaxTopologyDistance = proto.String(p.Distance)
	}
	err := mutate(ctx, c.inRegion(p.Region), "resourcePolicies.insert", func(ctx context.Context, id *string) (*compute.Operation, error) {
		return c.policies.Insert(ctx, &computepb.InsertResourcePolicyRequest{
			Project: c.project, Region: p.Region, RequestId: id,
			ResourcePolicyResource: &computepb.ResourcePolicy{
				Name:           proto.String(p.Name),
				Description:    proto.String(p.Stamp.String()),
				WorkloadPolicy: workload,
			},
		})
	})
	return failure("create workload policy", p.Name, creating, err)
}

// DeletePolicy deletes a workload policy. That a group names it still is an
// error with mig.CauseConflict.
func (c *Client) DeletePolicy(ctx context.Context, region, name string) error {
	err := mutate(ctx, c.inRegion(region), "resourcePolicies.delete", func(ctx context.Context, id *string) (*compute.Operation, error) {
		return c.policies.Delete(ctx, &computepb.DeleteResourcePolicyRequest{
			Project: c.project, Region: region, ResourcePolicy: name, RequestId: id,
		})
	})
	return failure("delete workload policy", name, ending, err)
}
