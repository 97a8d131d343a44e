package view

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/mig"
	"slurmflex/test/scenetest"
)

func TestRegionShowsItsGPUQuotas(t *testing.T) {
	const h100 = "PREEMPTIBLE_NVIDIA_H100_GPUS"
	v := busy().view()
	requested := 0
	for _, r := range v.Rows {
		if r.Region == scenetest.US && (r.State == Asking || r.State == Queued) {
			requested += 8 * r.Count
		}
	}
	assert.Positive(t, requested)
	v.SetQuotas(mig.Region{Name: scenetest.US, Quotas: []mig.Quota{
		{Metric: h100, Limit: 128, Usage: 40},
		{Metric: "INSTANCE_GROUPS", Limit: 150, Usage: 149},
		{Metric: "INSTANCES", Limit: 1000, Usage: 5},
		{Metric: "STATIC_ADDRESSES", Limit: 8, Usage: 8},
	}}, noon.Add(-59*time.Second+time.Millisecond).Local())
	assert.Equal(t, noon.Add(-59*time.Second), v.Regions[1].QuotasAt)
	v.SetQuotas(mig.Region{Name: "mars", Quotas: []mig.Quota{{Metric: h100}}}, noon)
	assert.Equal(t, []GPUQuota{{Quota: h100, Families: []string{"a3-highgpu"}, Used: 40, Requested: requested, Allowed: 128}}, v.Regions[1].GPUs)
	assert.Equal(t, &QuotaUsage{"INSTANCE_GROUPS", 149, 150}, v.Regions[1].Tightest, "the full one is not for flex-start")
	assert.Empty(t, v.Regions[0].Quotas(noon), "nothing was read there")
	_, text, _ := strings.Cut(v.Table(Layout{Now: noon}), "region us-central1: ")
	_, text, _ = strings.Cut(text, "\n")
	assert.Contains(t, text, "  a3-highgpu GPUs ("+h100+"): 40 used, ")
	assert.Contains(t, text, " requested, 128 allowed\n  tightest quota: INSTANCE_GROUPS, 149 of 150 used\n")
	assert.NotContains(t, text, "quotas were read")
	v.Regions[1].QuotasAt = noon.Add(-4 * time.Minute)
	assert.Contains(t, v.Table(Layout{Now: noon}), "149 of 150 used\n  quotas were read 4m ago\n")
}

func TestUnreadQuotasAreOneLine(t *testing.T) {
	v := busy().view()
	v.Regions[1].QuotaFail = "read region us-central1: 403"
	assert.Contains(t, v.Table(Layout{Now: noon}), "\n  quotas could not be read: read region us-central1: 403\n")
}
