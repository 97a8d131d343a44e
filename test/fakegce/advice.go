package fakegce

import (
	"maps"
	"slices"
	"strings"

	"google.golang.org/api/compute/v1"
)

// advise says how much of a request for VMs would fit into the zones now: an
// obtainability of 1 is all of them. Of several machine types in one selection the
// first counts, and of several selections the one of the lowest rank.
func (s *Server) advise(c *call) (any, error) {
	spec := new(compute.CapacityAdviceRequest)
	if err := s.decode(c, spec); err != nil {
		return nil, err
	}
	model, err := s.advisedModel(spec)
	if err != nil {
		return nil, err
	}
	machineType, err := s.advisedMachine(spec.InstanceFlexibilityPolicy)
	if err != nil {
		return nil, err
	}
	policy := spec.DistributionPolicy
	if policy == nil {
		policy = new(compute.CapacityAdviceRequestDistributionPolicy)
	}
	if err := checkWords([]word{{"distributionPolicy.targetShape", policy.TargetShape, "ANY ANY_SINGLE_ZONE BALANCED"}}); err != nil {
		return nil, err
	}
	if spec.Size < 1 {
		return nil, invalid("Invalid value for field 'resource.size': '%d'. Must be at least 1.", spec.Size)
	}
	zones, err := s.advisedZones(c.at.region, policy.Zones)
	if err != nil {
		return nil, err
	}
	single := policy.TargetShape == "" || policy.TargetShape == "ANY_SINGLE_ZONE"
	return s.recommend(model, machineType, zones, spec.Size, single), nil
}

// advisedModel is the provisioning model that advice is wanted for.
func (s *Server) advisedModel(spec *compute.CapacityAdviceRequest) (string, error) {
	const field = "instanceProperties.scheduling.provisioningModel"
	if spec.InstanceProperties == nil || spec.InstanceProperties.Scheduling == nil || spec.InstanceProperties.Scheduling.ProvisioningModel == "" {
		return "", required("resource." + field)
	}
	allowed := models
	if s.opts.Switches.AdviceForSpotOnly {
		allowed = "SPOT"
	}
	model := spec.InstanceProperties.Scheduling.ProvisioningModel
	return model, checkWords([]word{{field, model, allowed}})
}

// advisedMachine is the machine type that advice is wanted for.
func (s *Server) advisedMachine(p *compute.CapacityAdviceRequestInstanceFlexibilityPolicy) (string, error) {
	const field = "resource.instanceFlexibilityPolicy.instanceSelections"
	if p == nil || len(p.InstanceSelections) == 0 {
		return "", required(field)
	}
	names := slices.Sorted(maps.Keys(p.InstanceSelections))
	for _, name := range names {
		if err := checkName(field, name); err != nil {
			return "", err
		}
		selection := p.InstanceSelections[name]
		if len(selection.MachineTypes) == 0 {
			return "", required(field + "." + name + ".machineTypes")
		}
		for _, m := range selection.MachineTypes {
			if _, ok := s.machine[m]; !ok {
				return "", invalid("Invalid value for field '%s.%s.machineTypes': '%s'. The machine type does not exist.", field, name, m)
			}
		}
		for _, d := range selection.Disks {
			if err := checkWords([]word{{"instanceFlexibilityPolicy.instanceSelections." + name + ".disks.type", d.Type, "SCRATCH"}}); err != nil {
				return "", err
			}
		}
	}
	first := slices.MinFunc(names, func(a, b string) int {
		return int(p.InstanceSelections[a].Rank - p.InstanceSelections[b].Rank)
	})
	return p.InstanceSelections[first].MachineTypes[0], nil
}

// advisedZones are the zones that advice is wanted for: those that are named, or
// all of the region.
func (s *Server) advisedZones(region string, named []*compute.CapacityAdviceRequestDistributionPolicyZoneConfiguration) ([]string, error) {
	if len(named) == 0 {
		return s.zonesOf(region), nil
	}
	var zones []string
	for i, z := range named {
		name, err := s.policyZone(region, i, z.Zone, zones)
		if err != nil {
			return nil, err
		}
		zones = append(zones, name)
	}
	return zones, nil
}

// recommend is the one recommendation: as many VMs as fit, in the zone that takes
// most of them or in one zone after the other.
func (s *Server) recommend(model, machineType string, zones []string, size int64, single bool) *compute.CapacityAdviceResponse {
	var shards []*compute.CapacityAdviceResponseRecommendationShard
	got := int64(0)
	for _, zone := range zones {
		n := size - got
		if single {
			n = size
		}
		if free := s.free(stock{zone, machineType, model}); free >= 0 {
			n = min(n, int64(free))
		}
		switch shard := (&compute.CapacityAdviceResponseRecommendationShard{
			InstanceCount: n, MachineType: machineType, ProvisioningModel: model, Zone: zone,
		}); {
		case n == 0 || s.shut(zone, machineType):
		case !single:
			shards, got = append(shards, shard), got+n
		case n > got:
			shards, got = []*compute.CapacityAdviceResponseRecommendationShard{shard}, n
		}
	}
	scores := &compute.CapacityAdviceResponseRecommendationScores{
		Obtainability: float64(got) / float64(size), ForceSendFields: []string{"Obtainability"},
	}
	if model == "SPOT" {
		scores.EstimatedUptime = "3600s"
	}
	return &compute.CapacityAdviceResponse{Recommendations: []*compute.CapacityAdviceResponseRecommendation{{Scores: scores, Shards: shards}}}
}

// word is an enum's value in a body, where fewer are allowed than the enum has.
type word struct{ field, value, allowed string }

func checkWords(words []word) error {
	for _, w := range words {
		if w.value != "" && !slices.Contains(strings.Fields(w.allowed), w.value) {
			return invalid("Invalid value for field 'resource.%s': '%s'. Must be one of: %s.", w.field, w.value, w.allowed)
		}
	}
	return nil
}
