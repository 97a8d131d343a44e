package mig

// GroupQuotas are the metrics that each regional group counts to.
func GroupQuotas() []string { return []string{"INSTANCE_GROUPS", "REGIONAL_INSTANCE_GROUP_MANAGERS"} }

// Quota is a quota of a project in one region.
type Quota struct {
	Metric string // the API's word, such as PREEMPTIBLE_NVIDIA_H100_GPUS
	Limit  float64
}

// Region is a region as Compute describes it.
type Region struct {
	Name   string
	Up     bool
	Quotas []Quota // those that Compute shows here, which are not all
}

// Quota returns the limit of a metric; false if Compute does not show it.
func (r Region) Quota(metric string) (limit float64, shown bool) {
	for _, q := range r.Quotas {
		if q.Metric == metric {
			return q.Limit, true
		}
	}
	return 0, false
}

// Zone is a zone as Compute describes it.
type Zone struct {
	Name string
	Up   bool
}
