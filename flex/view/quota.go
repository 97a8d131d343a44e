package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"slurmflex/mig"
)

// GPUQuota is how much of a region's quota of GPUs is taken.
type GPUQuota struct {
	Quota     string   `json:"quota"`            // in the API's words
	Families  []string `json:"machine_families"` // of the nodesets whose GPUs count to it, such as a3-highgpu
	Used      int      `json:"used"`             // by the whole project
	Requested int      `json:"requested"`        // by live requests of this cluster
	Allowed   int      `json:"allowed"`
}

// QuotaUsage is how much of a region's quota is used.
type QuotaUsage struct {
	Quota   string `json:"quota"`
	Used    int    `json:"used"`
	Allowed int    `json:"allowed"`
}

// Quotas are the region's quotas in lines, and why they could not be read.
func (r Region) Quotas() []string {
	var lines []string
	for _, q := range r.GPUs {
		lines = append(lines, fmt.Sprintf("%s GPUs (%s): %d used, %d requested, %d allowed",
			strings.Join(q.Families, ", "), q.Quota, q.Used, q.Requested, q.Allowed))
	}
	if q := r.Tightest; q != nil {
		lines = append(lines, fmt.Sprintf("tightest quota: %s, %d of %d used", q.Quota, q.Used, q.Allowed))
	}
	if r.QuotaFail != "" {
		lines = append(lines, "quotas could not be read: "+r.QuotaFail)
	}
	return lines
}

// GPUTypes are the accelerator types of a region's nodesets, as far as they are
// known, each once.
func (v View) GPUTypes(region string) []string {
	var types []string
	for _, set := range v.NodeSets {
		machine, _ := mig.KnownMachine(set.Machine)
		if set.Region == region && machine.GPU != "" && !slices.Contains(types, machine.GPU) {
			types = append(types, machine.GPU)
		}
	}
	return types
}

// SetQuotas has the region show what Compute says of its quotas. The view's regions
// must not be shared.
func (v View) SetQuotas(is mig.Region) {
	i := slices.IndexFunc(v.Regions, func(r Region) bool { return r.Name == is.Name })
	if i < 0 {
		return
	}
	r := &v.Regions[i]
	types := v.GPUTypes(r.Name)
	for _, gpu := range types {
		if q, shown := is.GPUQuota(gpu); shown {
			r.GPUs = append(r.GPUs, v.gpuQuota(r.Name, gpu, q))
		}
	}
	if all := is.FlexQuotas(types); len(all) > 0 {
		q := slices.MaxFunc(all, func(a, b mig.Quota) int { return cmp.Compare(a.Full(), b.Full()) })
		r.Tightest = &QuotaUsage{q.Metric, int(q.Usage), int(q.Limit)}
	}
}

// gpuQuota is a quota to which GPUs of one type count.
func (v View) gpuQuota(region, gpu string, q mig.Quota) GPUQuota {
	taken := GPUQuota{Quota: q.Metric, Families: []string{}, Used: int(q.Usage), Allowed: int(q.Limit)}
	for _, set := range v.NodeSets {
		machine, _ := mig.KnownMachine(set.Machine)
		if set.Region != region || machine.GPU != gpu {
			continue
		}
		family := set.Machine[:strings.LastIndex(set.Machine, "-")]
		if !slices.Contains(taken.Families, family) {
			taken.Families = append(taken.Families, family)
		}
		for _, row := range v.Rows {
			if row.NodeSet == set.Name && (row.State == Asking || row.State == Queued) {
				taken.Requested += row.Count * machine.GPUs
			}
		}
	}
	return taken
}
