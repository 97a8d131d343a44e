package gce

import (
	"context"

	rest "google.golang.org/api/compute/v1"

	"cloud.google.com/go/compute/apiv1/computepb"
	"google.golang.org/protobuf/proto"

	"slurmflex/mig"
)

// Policies reads the workload policies with our stamp for this cluster. A policy with an unreadable
// stamp that may be ours has Unread set. A region with any other read error is in
// unseen, with the reason, and none of its policies are returned.
func (c *Client) Policies(ctx context.Context, cluster string, regions []string) (policies []mig.Policy, unseen map[string]error) {
	return perRegion(regions, func(region string) ([]mig.Policy, error) {
		policies, err := c.listPolicies(ctx, cluster, region)
		if err != nil {
			return nil, failure("list workload policies of", region, reading, err)
		}
		return policies, nil
	})
}

// policyFields selects the fields of a list of workload policies.
const policyFields = listFields + ",items(name,description,creationTimestamp,workloadPolicy/maxTopologyDistance)"

func (c *Client) listPolicies(ctx context.Context, cluster, region string) ([]mig.Policy, error) {
	var policies distinct[mig.Policy]
	var all pages
	call := c.rest().ResourcePolicies.List(c.project, region).Filter(namesOf(cluster)).Fields(policyFields).MaxResults(pageSize)
	err := call.Pages(calling(ctx, "resourcePolicies.list"), func(l *rest.ResourcePolicyList) error {
		return eachRecord(&all, page{l.Kind, l.NextPageToken, l.Warning, nil}, l.Items, func(m *rest.ResourcePolicy) error {
			p, err := policyOf(m, region)
			var ours bool
			if p.Stamp, p.Unread, ours = stampOf(cluster, m.Description); err != nil || !ours || p.Stamp.Newer() {
				return err
			}
			return policies.add(m.Name, p)
		})
	})
	return policies.all, err
}

func policyOf(m *rest.ResourcePolicy, region string) (mig.Policy, error) {
	created, err := createdAt(m.Name, m.CreationTimestamp)
	p := mig.Policy{Name: m.Name, Region: region, Created: created}
	if m.WorkloadPolicy != nil {
		p.Distance = m.WorkloadPolicy.MaxTopologyDistance
	}
	return p, err
}

// CreatePolicy creates a workload policy and waits until it exists. An existing policy is an error
// with mig.CauseExists.
func (c *Client) CreatePolicy(ctx context.Context, p mig.PolicySpec) error {
	workload := &computepb.ResourcePolicyWorkloadPolicy{Type: proto.String("HIGH_THROUGHPUT")}
	if p.Distance != "" {
		workload.MaxTopologyDistance = proto.String(p.Distance)
	}
	err := mutate(ctx, c.inRegion(p.Region), "resourcePolicies.insert", c.policies.Insert, &computepb.InsertResourcePolicyRequest{
		Project: c.project, Region: p.Region, RequestId: newID(),
		ResourcePolicyResource: &computepb.ResourcePolicy{
			Name:           proto.String(p.Name),
			Description:    proto.String(p.Stamp.String()),
			WorkloadPolicy: workload,
		},
	})
	return failure("create workload policy", p.Name, creating, err)
}

// DeletePolicy deletes a workload policy. If a group still uses it, the error has
// mig.CauseConflict.
func (c *Client) DeletePolicy(ctx context.Context, region, name string) error {
	err := mutate(ctx, c.inRegion(region), "resourcePolicies.delete", c.policies.Delete, &computepb.DeleteResourcePolicyRequest{
		Project: c.project, Region: region, ResourcePolicy: name, RequestId: newID(),
	})
	return failure("delete workload policy", name, ending, err)
}
