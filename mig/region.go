package mig

import (
	"slices"
	"strings"
)

// RegionOf returns the region of a zone: us-central1 of us-central1-a.
func RegionOf(zone string) string { return zone[:max(0, strings.LastIndex(zone, "-"))] }

// GroupQuotas are the metrics that each regional group counts to.
func GroupQuotas() []string { return []string{"INSTANCE_GROUPS", "REGIONAL_INSTANCE_GROUP_MANAGERS"} }

// Quota is a quota of a project in one region.
type Quota struct {
	Metric       string // the API's word, such as PREEMPTIBLE_NVIDIA_H100_GPUS
	Limit, Usage float64
}

// Full is the used part of the limit: from 0 to 1, or more where the limit was
// lowered.
func (q Quota) Full() float64 {
	if q.Limit <= 0 {
		return 1
	}
	return q.Usage / q.Limit
}

// Region is a region as Compute describes it.
type Region struct {
	Name   string
	Up     bool
	Quotas []Quota // those that Compute shows here, which are not all
}

// Quota returns the quota of a metric; false if Compute does not show it.
func (r Region) Quota(metric string) (q Quota, shown bool) {
	i := slices.IndexFunc(r.Quotas, func(q Quota) bool { return q.Metric == metric })
	if i < 0 {
		return Quota{}, false
	}
	return r.Quotas[i], true
}

// GPUs are those of a type that come on demand, or by a model that is preemptible to
// quotas: flex-start and Spot.
type GPUs struct {
	Type     string
	OnDemand bool
}

// GPUQuota returns the quota that such GPUs count to, as far as Compute shows it: the
// standard one on demand, and otherwise the preemptible one, or in a project that
// has none of it the standard one. Source: Compute's page "Allocation quotas".
func (r Region) GPUQuota(gpus GPUs) (q Quota, shown bool) {
	metric, known := PreemptibleQuota(gpus.Type)
	if !known {
		return Quota{}, false
	}
	q, shown = r.Quota(metric)
	standard, any := r.Quota(strings.TrimPrefix(metric, "PREEMPTIBLE_"))
	if gpus.OnDemand {
		return standard, any
	}
	if any && standard.Limit > 0 && q.Limit == 0 {
		return standard, true
	}
	return q, shown
}

// FlexQuotas are the quotas that machines with such GPUs, their groups and requests
// count to, as far as Compute shows them, each once.
func (r Region) FlexQuotas(gpus []GPUs) []Quota {
	var all []Quota
	for _, metric := range append(GroupQuotas(), ActiveRequestsQuota, "INSTANCES") {
		if q, shown := r.Quota(metric); shown {
			all = append(all, q)
		}
	}
	for _, those := range gpus {
		if q, shown := r.GPUQuota(those); shown && !slices.Contains(all, q) {
			all = append(all, q)
		}
	}
	return all
}

// Zone is a zone as Compute describes it.
type Zone struct {
	Name string
	Up   bool
}
