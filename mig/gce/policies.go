package gce

import (
	"context"
	"net/url"

	compute "cloud.google.com/go/compute/apiv1"
	"cloud.google.com/go/compute/apiv1/computepb"
	"google.golang.org/protobuf/proto"

	"slurmflex/mig"
)

// Policies reads the workload policies with our stamp for this cluster. A policy that could be read only in part has Unread set. A region with any other read error is in
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
const policyFields = "kind,nextPageToken,warning(code,message),items(name,description,creationTimestamp,workloadPolicy/maxTopologyDistance)"

// listedPolicy is a workload policy with the fields that are read.
type listedPolicy struct {
	Name              string `json:"name"`
	Description       string `json:"description"`
	CreationTimestamp string `json:"creationTimestamp"`
	WorkloadPolicy    struct {
		MaxTopologyDistance string `json:"maxTopologyDistance"`
	} `json:"workloadPolicy"`
}

func (m listedPolicy) name() string { return m.Name }

func (c *Client) listPolicies(ctx context.Context, cluster, region string) ([]mig.Policy, error) {
	var policies distinct[mig.Policy]
	ctx = calling(ctx, "resourcePolicies.list")
	query := url.Values{"filter": {namesOf(cluster)}, "fields": {policyFields}}
	err := c.readAll(ctx, escaped("regions", region, "resourcePolicies"), query, func(s *stream) error {
		return eachRow(s, func(m listedPolicy, wrong faulty) error {
			stamp, ours := stampOf(cluster, m.Description, wrong)
			if !ours || stamp.Newer() {
				return nil
			}
			if other := policies.add(m.Name, policyOf(m, region, stamp, wrong)); other != nil {
				other.Unread = contradiction
			}
			return nil
		})
	}, nil)
	return policies.all, err
}

func policyOf(m listedPolicy, region string, stamp mig.Stamp, wrong faulty) mig.Policy {
	created, err := timeOf(m.CreationTimestamp)
	wrong.note("creationTimestamp", err)
	return mig.Policy{
		Name: m.Name, Region: region, Stamp: stamp,
		Distance: m.WorkloadPolicy.MaxTopologyDistance, Created: created, Unread: wrong.String(),
	}
}

// CreatePolicy creates a workload policy and waits until it exists. An existing policy is an error
// with mig.CauseExists.
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

// DeletePolicy deletes a workload policy. If a group still uses it, the error has
// mig.CauseConflict.
func (c *Client) DeletePolicy(ctx context.Context, region, name string) error {
	err := mutate(ctx, c.inRegion(region), "resourcePolicies.delete", func(ctx context.Context, id *string) (*compute.Operation, error) {
		return c.policies.Delete(ctx, &computepb.DeleteResourcePolicyRequest{
			Project: c.project, Region: region, ResourcePolicy: name, RequestId: id,
		})
	})
	return failure("delete workload policy", name, ending, err)
}
