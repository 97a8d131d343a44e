package gce

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"

	"cloud.google.com/go/compute/apiv1/computepb"
	"google.golang.org/protobuf/proto"

	"slurmflex/mig"
)

// CapacityAdvice asks Compute how likely flex-start would provide machines of a template. The v1
// schema has FLEX_START, but the documentation mentions only Spot (2026-10), so callers must expect
// a rejection with mig.CauseConfig. The request ignores local SSDs that the template adds to its
// machine type.
func (c *Client) CapacityAdvice(ctx context.Context, a mig.AdviceSpec) (mig.Advice, error) {
	const op = "read capacity advice of"
	_, p, err := c.readTemplate(ctx, a.Template)
	if err != nil {
		return mig.Advice{}, err
	}
	answer, err := c.advice.Capacity(calling(ctx, "advice.capacity"), &computepb.CapacityAdviceRpcRequest{
		Project: c.project, Region: a.Region, CapacityAdviceRequestResource: adviceBody(a, p),
	})
	if err != nil {
		return mig.Advice{}, failure(op, a.Region, reading, err)
	}
	advice, err := adviceOf(answer)
	if err != nil {
		return mig.Advice{}, failure(op, a.Region, reading, err)
	}
	return advice, nil
}

// adviceBody returns the request's body. Source: discovery document, CapacityAdviceRequest.
func adviceBody(a mig.AdviceSpec, p *properties) *computepb.CapacityAdviceRequest {
	shape := "ANY"
	if a.OneZone {
		shape = "ANY_SINGLE_ZONE"
	}
	policy := &computepb.CapacityAdviceRequestDistributionPolicy{TargetShape: &shape}
	for _, zone := range a.Zones {
		policy.Zones = append(policy.Zones, &computepb.CapacityAdviceRequestDistributionPolicyZoneConfiguration{Zone: proto.String("zones/" + zone)})
	}
	selection := &computepb.CapacityAdviceRequestInstanceFlexibilityPolicyInstanceSelection{MachineTypes: []string{path.Base(p.MachineType)}}
	for _, gpus := range p.GuestAccelerators {
		selection.GuestAccelerators = append(selection.GuestAccelerators, &computepb.AcceleratorConfig{
			AcceleratorType: proto.String(gpus.AcceleratorType), AcceleratorCount: proto.Int32(gpus.AcceleratorCount),
		})
	}
	return &computepb.CapacityAdviceRequest{
		Size:               proto.Int32(int32(a.Count)),
		DistributionPolicy: policy,
		InstanceProperties: &computepb.CapacityAdviceRequestInstanceProperties{
			Scheduling: &computepb.CapacityAdviceRequestInstancePropertiesScheduling{ProvisioningModel: &a.Model},
		},
		InstanceFlexibilityPolicy: &computepb.CapacityAdviceRequestInstanceFlexibilityPolicy{
			InstanceSelections: map[string]*computepb.CapacityAdviceRequestInstanceFlexibilityPolicyInstanceSelection{
				"template": selection,
			},
		},
	}
}

// adviceOf returns Compute's first recommendation, which balances all scores.
func adviceOf(answer *computepb.CapacityAdviceResponse) (mig.Advice, error) {
	if len(answer.GetRecommendations()) == 0 {
		return mig.Advice{}, errors.New("an answer without a recommendation")
	}
	first := answer.GetRecommendations()[0]
	scores := first.GetScores()
	if scores == nil || scores.Obtainability == nil {
		return mig.Advice{}, errors.New("an answer without obtainability")
	}
	advice := mig.Advice{Obtainability: scores.GetObtainability()}
	if !(advice.Obtainability >= 0 && advice.Obtainability <= 1) {
		return mig.Advice{}, fmt.Errorf("an obtainability of %v, not of 0 to 1", advice.Obtainability)
	}
	for _, shard := range first.GetShards() {
		if zone := shard.GetZone(); zone != "" && shard.GetInstanceCount() > 0 {
			advice.Zones = append(advice.Zones, path.Base(zone))
		}
	}
	slices.Sort(advice.Zones)
	advice.Zones = slices.Compact(advice.Zones)
	return advice, nil
}
