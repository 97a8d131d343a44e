package fakegce

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/api/compute/v1"
)

// spot is a machine type in a zone.
type spot struct{ zone, machineType string }

// stock identifies the VMs of a machine type and a provisioning model in a zone; an empty
// field matches every value.
type stock struct{ zone, machineType, model string }

// quota identifies a quota: a metric in a region.
type quota struct{ region, metric string }

// SetCapacity sets how many VMs of a machine type fit into a zone in total. A negative number
// means no limit, which is the initial state of every zone. An empty zone or machineType
// applies to every one without a number of its own. VMs of a provisioning model with its own
// number (SetModelCapacity) do not count.
func (s *Server) SetCapacity(zone, machineType string, n int) {
	s.do(func() { s.capacity[stock{zone, machineType, ""}] = n })
}

// SetModelCapacity does the same for the VMs of one provisioning model, such as SPOT. Its
// numbers take precedence over those of SetCapacity, even if they apply to every zone or
// machine type.
func (s *Server) SetModelCapacity(zone, machineType, model string, n int) error {
	if !slices.Contains(strings.Fields(models), model) {
		return fmt.Errorf("set capacity of %s: unknown provisioning model; known: %s", model, models)
	}
	s.do(func() { s.capacity[stock{zone, machineType, model}] = n })
	return nil
}

// SetQuota sets the limit of a metric in a region; a negative limit means no limit. The region
// "" holds the quota of global operations. SetQuota returns an error for a metric without
// effect in this fake.
func (s *Server) SetQuota(region, metric string, limit float64) error {
	global := region == "" && metric == ConcurrentOperations
	if !global && !slices.Contains(s.regions(), region) {
		return fmt.Errorf("set quota %s: unknown region %q", metric, region)
	}
	if !knownQuota(metric) {
		return fmt.Errorf("set quota of %s: unknown metric %q; known: %s, and GPUs, such as NVIDIA_H100_GPUS and PREEMPTIBLE_NVIDIA_H100_GPUS", region, metric, strings.Join(countedQuotas(), ", "))
	}
	s.do(func() { s.quotas[quota{region, metric}] = limit })
	return nil
}

// countedQuotas returns the metrics that the fake counts, except those of GPUs.
func countedQuotas() []string {
	return []string{activeRequestsQuota, ConcurrentOperations, "INSTANCES", "INSTANCE_GROUPS", "REGIONAL_INSTANCE_GROUP_MANAGERS"}
}

func knownQuota(metric string) bool {
	return slices.Contains(countedQuotas(), metric) || slices.Contains(slices.Collect(maps.Values(gpuMetrics())), strings.TrimPrefix(metric, preemptible))
}

// limit returns a quota's limit, or -1 if it has none.
func (s *Server) limit(q quota) float64 {
	if limit, ok := s.quotas[q]; ok {
		return limit
	}
	if q.metric == activeRequestsQuota {
		return 100
	}
	return -1
}

// room returns how many VMs of a stock fit in total, or -1 for no limit. own reports whether
// the provisioning model has its own number.
func (s *Server) room(of stock) (n int, own bool) {
	for _, model := range []string{of.model, ""} {
		for _, at := range []spot{{of.zone, of.machineType}, {of.zone, ""}, {"", of.machineType}, {"", ""}} {
			if n, ok := s.capacity[stock{at.zone, at.machineType, model}]; ok {
				return n, model != ""
			}
		}
	}
	return -1, false
}

// free returns how many more VMs of a stock fit, or -1 for no limit.
func (s *Server) free(of stock) int {
	n, own := s.room(of)
	if n < 0 {
		return -1
	}
	for _, model := range strings.Fields(models) {
		other := stock{of.zone, of.machineType, model}
		if _, apart := s.room(other); other == of || !own && !apart {
			n -= s.placed[other]
		}
	}
	return max(n, 0)
}

// nameTaken is the error code for a VM name that is already in use.
const nameTaken = "RESOURCE_ALREADY_EXISTS"

// findRoom returns the first of the group's zones with room for all VMs of a request. If there
// is none, it returns why they do not fit into the last zone.
func (s *Server) findRoom(r *request) (zone string, p *Problem) {
	for _, zone := range r.group.zones {
		var n int
		if n, p = s.fits(zone, r.group.template.api.Properties, r.names); n == len(r.names) {
			return zone, nil
		}
	}
	return "", p
}

// fits returns how many VMs with these names fit into a zone, and why the others do not.
func (s *Server) fits(zone string, props *compute.InstanceProperties, names []string) (n int, p *Problem) {
	if s.shut(zone, props.MachineType) {
		return 0, stockOut(zone, props.MachineType)
	}
	for _, name := range names {
		path := s.path(location{zone: zone}, "instances", name)
		if _, taken := s.instances.get(path); taken {
			return 0, problem(nameTaken, "%s", alreadyExists(path).Message)
		}
	}
	n = len(names)
	free, short := s.free(stock{zone, props.MachineType, modelOf(props)}), stockOut(zone, props.MachineType)
	if namesReservation(props) {
		free, short = s.reservedFree(zone, props)
	}
	if free >= 0 && free < n {
		n, p = free, short
	}
	for ; n > 0; n-- {
		short := s.quotaShortage(regionOf(zone), s.needs(regionOf(zone), props), n)
		if short == nil {
			break
		}
		p = short
	}
	return n, p
}

func stockOut(zone, machineType string) *Problem {
	return &Problem{
		Code:    "ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS",
		Message: fmt.Sprintf("The zone '%s' does not have enough resources available to fulfill the request. There are currently not enough resources available to fulfill the request.", zone),
		Details: []map[string]any{{"errorInfo": map[string]any{
			"domain": "compute.googleapis.com", "reason": "resource_availability", "metadatas": map[string]string{"zone": zone, "vmType": machineType},
		}}},
	}
}

// quotaShortage returns the problem with the quota that n such VMs would exceed, or nil.
func (s *Server) quotaShortage(region string, needs map[string]float64, n int) *Problem {
	for _, metric := range slices.Sorted(maps.Keys(needs)) {
		q := quota{region, metric}
		if limit := s.limit(q); limit >= 0 && s.usage[q]+needs[metric]*float64(n) > limit {
			return quotaProblem(q, limit)
		}
	}
	return nil
}

func quotaProblem(q quota, limit float64) *Problem {
	return &Problem{
		Code:    "QUOTA_EXCEEDED",
		Message: fmt.Sprintf("Quota '%s' exceeded.  Limit: %.1f in region %s.", q.metric, limit, q.region),
		Details: []map[string]any{{"quotaInfo": map[string]any{
			"metricName": "compute.googleapis.com/" + q.metric, "limitName": q.metric + "-per-project-region",
			"dimensions": map[string]string{"region": q.region}, "limit": limit,
		}}},
	}
}
