package fakegce

import (
	"slices"
	"strings"

	"google.golang.org/api/compute/v1"
)

// advise returns how many of the requested VMs of one machine type would fit into the zones
// now. An obtainability of 1 means that all of them fit.
func (s *Server) advise(c *call) (any, error) {
	spec := &compute.CapacityAdviceRequest{DistributionPolicy: new(compute.CapacityAdviceRequestDistributionPolicy)}
	if err := s.decode(c, spec); err != nil {
		return nil, err
	}
	model, err := advisedModel(spec)
	if err != nil {
		return nil, err
	}
	machineType, err := s.advisedMachine(spec.InstanceFlexibilityPolicy)
	if err != nil {
		return nil, err
	}
	shape := spec.DistributionPolicy.TargetShape
	if err := checkWord("distributionPolicy.targetShape", shape, "ANY ANY_SINGLE_ZONE"); err != nil {
		return nil, err
	}
	if spec.Size < 1 {
		return nil, invalid("Invalid value for field 'resource.size': '%d'. Must be at least 1.", spec.Size)
	}
	var links []string
	for _, z := range spec.DistributionPolicy.Zones {
		links = append(links, z.Zone)
	}
	zones, err := s.policyZones("distributionPolicy", c.at.region, links)
	if err != nil {
		return nil, err
	}
	return s.recommend(model, machineType, zones, spec.Size, shape != "ANY"), nil
}

// advisedModel returns the provisioning model that the call asks about.
func advisedModel(spec *compute.CapacityAdviceRequest) (string, error) {
	const field = "instanceProperties.scheduling.provisioningModel"
	if spec.InstanceProperties == nil || spec.InstanceProperties.Scheduling == nil || spec.InstanceProperties.Scheduling.ProvisioningModel == "" {
		return "", required("resource." + field)
	}
	model := spec.InstanceProperties.Scheduling.ProvisioningModel
	return model, checkWord(field, model, models)
}

// advisedMachine returns the machine type that the call asks about.
func (s *Server) advisedMachine(p *compute.CapacityAdviceRequestInstanceFlexibilityPolicy) (string, error) {
	const field = "resource.instanceFlexibilityPolicy.instanceSelections"
	if p == nil || len(p.InstanceSelections) == 0 {
		return "", required(field)
	}
	for name, selection := range p.InstanceSelections {
		if len(p.InstanceSelections) > 1 || len(selection.MachineTypes) != 1 {
			break
		}
		machineType := selection.MachineTypes[0]
		if _, ok := s.machine[machineType]; !ok {
			return "", invalid("Invalid value for field '%s.%s.machineTypes': '%s'. The machine type does not exist.", field, name, machineType)
		}
		return machineType, nil
	}
	return "", notImplemented("This fake advises on one selection with one machine type.")
}

// recommend returns the only recommendation: as many VMs as fit, either all in the zone with
// most room or spread over the zones in order.
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
	return &compute.CapacityAdviceResponse{Recommendations: []*compute.CapacityAdviceResponseRecommendation{{Scores: scores, Shards: shards}}}
}

// checkWord refuses a value that is not in the enum's list of allowed words. It accepts "".
func checkWord(field, value, allowed string) error {
	if value == "" || slices.Contains(strings.Fields(allowed), value) {
		return nil
	}
	return invalid("Invalid value for field 'resource.%s': '%s'. Must be one of: %s.", field, value, allowed)
}
