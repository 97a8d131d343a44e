package mig

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestFlexStartHasMachinesWithGPUsAndH4D(t *testing.T) {
	for name, want := range map[string]bool{
		"a3-highgpu-8g": true, "g2-standard-4": true, "h4d-standard-192": true, "n1-standard-8": true,
		"n2-standard-2": false, "e2-standard-4": false, "a4x-highgpu-4g": false,
	} {
		m, known := KnownMachine(name)
		if !known {
			m = MachineType{Name: name}
		}
		assert.Equal(t, want, m.FlexStart(), name)
	}
	assert.True(t, MachineType{Name: "z9-gpu-4", GPU: "nvidia-z", GPUs: 4}.FlexStart(), "a type of the future with GPUs")
	assert.False(t, MachineType{Name: "a4x-highgpu-4g", GPU: "nvidia-gb200", GPUs: 4}.FlexStart())
}

func TestGPUsCountToTheQuotaOfPreemptibleOnes(t *testing.T) {
	metric, known := PreemptibleQuota("nvidia-h100-mega-80gb")
	assert.True(t, known)
	assert.Equal(t, "PREEMPTIBLE_NVIDIA_H100_MEGA_GPUS", metric)
	for _, gpu := range []string{"", "nvidia-z"} {
		_, known = PreemptibleQuota(gpu)
		assert.False(t, known, gpu)
	}
}

func TestAQuotaThatARegionDoesNotShowIsNotZero(t *testing.T) {
	r := Region{Quotas: []Quota{{"A", 0}, {"B", 8}}}
	for metric, want := range map[string]struct {
		limit float64
		shown bool
	}{"A": {0, true}, "B": {8, true}, "C": {0, false}} {
		limit, shown := r.Quota(metric)
		assert.InDelta(t, want.limit, limit, 0, metric)
		assert.Equal(t, want.shown, shown, metric)
	}
}
