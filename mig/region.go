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

// Region is a region as Compute describes it.
type Region struct {
	Up bool
	// Quotas are the project's quotas that Compute shows with the region, not all that exist: limits by
	// the API's names, such as PREEMPTIBLE_NVIDIA_H100_GPUS.
	Quotas map[string]float64
}
