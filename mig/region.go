package mig

import "strings"

// RegionOf returns the region of a zone: us-central1 for us-central1-a.
func RegionOf(zone string) string { return zone[:max(0, strings.LastIndex(zone, "-"))] }

// GroupQuotas returns the quota metrics that every regional group counts towards.
func GroupQuotas() []string { return []string{"INSTANCE_GROUPS", "REGIONAL_INSTANCE_GROUP_MANAGERS"} }

// Methods of Compute that only nodesets with bulk insert, or with placement, need in their region.
const (
	BulkInsert   = "instances.bulkInsert"
	InsertPolicy = "resourcePolicies.insert"
)

// Quota is a quota of a project in one region.
type Quota struct {
	Metric string // the API's name, such as PREEMPTIBLE_NVIDIA_H100_GPUS
	Limit  float64
}

// Region is a region as Compute describes it.
type Region struct {
	Name   string
	Up     bool
	Quotas []Quota // the quotas that Compute shows with the region, not all that exist
}

// Quota returns the quota of a metric; shown is false if Compute does not show it.
func (r Region) Quota(metric string) (q Quota, shown bool) {
	for _, q := range r.Quotas {
		if q.Metric == metric {
			return q, true
		}
	}
	return Quota{}, false
}

// GPUs describes GPUs of one type: on demand, or obtained by flex-start or Spot, which both use
// preemptible quota.
type GPUs struct {
	Type     string
	OnDemand bool
}

// GPUQuota returns the quota for such GPUs, as far as Compute shows it. On-demand GPUs use the
// standard quota. Others use the preemptible quota, or the standard quota in a project without
// preemptible quota. Source: Compute's page "Allocation quotas".
func (r Region) GPUQuota(gpus GPUs) (q Quota, shown bool) {
	metric, known := preemptibleQuota(gpus.Type)
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

// Zone is a zone as Compute describes it.
type Zone struct {
	Name string
	Up   bool
}
