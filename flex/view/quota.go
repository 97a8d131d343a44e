package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"slurmflex/config"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
)

// GPUQuota is the usage of a region's GPU quota.
type GPUQuota struct {
	Quota string `json:"quota"` // in the API's words
	// Families are those of nodesets with GPUs that count toward the quota, such as a3-highgpu.
	Families  []string `json:"machine_families"`
	Used      int      `json:"used"`      // by the whole project
	Requested int      `json:"requested"` // by live requests of this cluster
	Allowed   int      `json:"allowed"`
}

// QuotaUsage is the usage of a region's quota.
type QuotaUsage struct {
	Quota   string `json:"quota"`
	Used    int    `json:"used"`
	Allowed int    `json:"allowed"`
}

// Quotas returns one line for each of the region's quotas, a line with their age if they are at
// least a minute old, and the reason if they could not be read.
func (r Region) Quotas(now time.Time) []string {
	var lines []string
	for _, q := range r.GPUs {
		lines = append(lines, fmt.Sprintf("%s GPUs (%s): %d used, %d requested, %d allowed",
			strings.Join(q.Families, ", "), q.Quota, q.Used, q.Requested, q.Allowed))
	}
	if q := r.Tightest; q != nil {
		lines = append(lines, fmt.Sprintf("tightest quota: %s, %d of %d used", q.Quota, q.Used, q.Allowed))
	}
	if age := now.Sub(r.QuotasAt); len(lines) > 0 && !r.QuotasAt.IsZero() && age >= time.Minute {
		lines = append(lines, "quotas were read "+Span(age)+" ago")
	}
	if r.QuotaFail != "" {
		lines = append(lines, "quotas could not be read: "+r.QuotaFail)
	}
	return lines
}

// GPUs returns the known kinds of GPUs in a region's nodesets. It omits machines from reservations,
// which do not count toward a quota a second time.
func (v View) GPUs(region string) []mig.GPUs {
	var all []mig.GPUs
	for _, set := range v.NodeSets {
		gpus := set.gpus()
		if set.Region == region && gpus.Type != "" && set.Capacity != config.Reservation && !slices.Contains(all, gpus) {
			all = append(all, gpus)
		}
	}
	return all
}

// GPUsIn is View.GPUs without a view.
func GPUsIn(s *scene.Scene, region string) []mig.GPUs {
	var v View
	for _, set := range s.Config.FlexSets() {
		v.NodeSets = append(v.NodeSets, NodeSet{
			Region: set.Region, Capacity: set.Flex.Capacity, Machine: s.Seen.Templates[set.Template].MachineType,
		})
	}
	return v.GPUs(region)
}

func (s NodeSet) gpus() mig.GPUs {
	machine, _ := mig.KnownMachine(s.Machine)
	return mig.GPUs{Type: machine.GPU, OnDemand: s.Capacity.Model() == mig.Standard}
}

// SetQuotas stores a region's quotas as Compute reported them at a time. The view's regions must
// not be shared.
func (v View) SetQuotas(is mig.Region, at time.Time) {
	i := slices.IndexFunc(v.Regions, func(r Region) bool { return r.Name == is.Name })
	if i < 0 {
		return
	}
	r := &v.Regions[i]
	r.QuotasAt = second(at)
	gpus := v.GPUs(r.Name)
	for _, those := range gpus {
		if q, shown := is.GPUQuota(those); shown {
			r.GPUs = append(r.GPUs, v.gpuQuota(r.Name, those, q))
		}
	}
	if all := is.FlexQuotas(gpus); len(all) > 0 {
		q := slices.MaxFunc(all, func(a, b mig.Quota) int { return cmp.Compare(a.Full(), b.Full()) })
		r.Tightest = &QuotaUsage{q.Metric, int(q.Usage), int(q.Limit)}
	}
}

// gpuQuota returns the usage of a quota that such GPUs count toward.
func (v View) gpuQuota(region string, gpus mig.GPUs, q mig.Quota) GPUQuota {
	taken := GPUQuota{Quota: q.Metric, Families: []string{}, Used: int(q.Usage), Allowed: int(q.Limit)}
	for _, set := range v.NodeSets {
		machine, _ := mig.KnownMachine(set.Machine)
		if set.Region != region || set.gpus() != gpus {
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
