package setup

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/mig"
)

func TestFlexStartSupportsGPUMachinesAndH4D(t *testing.T) {
	for name, want := range map[string]bool{
		"g2-standard-4": true, "h4d-standard-192": true, "n1-standard-8": true, "n2-standard-2": false, "a4x-highgpu-4g": false,
	} {
		m, known := mig.KnownMachine(name)
		if !known {
			m = mig.MachineType{Name: name}
		}
		assert.Equal(t, want, offersFlexStart(m), name)
	}
	assert.True(t, offersFlexStart(mig.MachineType{Name: "z9-gpu-4", GPUs: 4}), "a type of the future with GPUs")
	assert.False(t, offersFlexStart(mig.MachineType{Name: "a4x-highgpu-4g", GPUs: 4}))
}

func TestProjectWithoutPreemptibleQuotaUsesStandardQuota(t *testing.T) {
	const standard, preemptible = "NVIDIA_L4_GPUS", "PREEMPTIBLE_NVIDIA_L4_GPUS"
	type quotas map[string]float64
	for name, test := range map[string]struct {
		shows quotas
		want  string
	}{
		"both":                           {quotas{standard: 8, preemptible: 16}, preemptible},
		"none that is preemptible":       {quotas{standard: 8, preemptible: 0}, standard},
		"none at all":                    {quotas{standard: 0, preemptible: 0}, preemptible},
		"the standard one is not shown":  {quotas{preemptible: 0}, preemptible},
		"only the standard one is shown": {quotas{standard: 8}, standard},
		"neither is shown":               {quotas{"INSTANCES": 8}, ""},
	} {
		metric, shown := gpuQuota(mig.Region{Quotas: test.shows}, "nvidia-l4", false)
		if assert.Equal(t, test.want != "", shown, name); shown {
			assert.Equal(t, test.want, metric, name)
		}
	}
	both := mig.Region{Quotas: quotas{standard: 8, preemptible: 16}}
	metric, shown := gpuQuota(both, "nvidia-l4", true)
	assert.True(t, shown)
	assert.Equal(t, standard, metric, "on demand")
	_, shown = gpuQuota(both, "nvidia-z", false)
	assert.False(t, shown, "a type of the future")
}

func TestExcludesNamesSettingsThatPreventAModel(t *testing.T) {
	flex := mig.Template{Model: mig.FlexStart, MaxRun: 2 * time.Hour, Termination: "DELETE"}
	assert.Empty(t, excludes(flex, mig.FlexStart))
	assert.Equal(t, []string{"maxRunDuration is 7200 s, after which Compute deletes the machines; make a template without"}, excludes(flex, mig.Spot))
	assert.Equal(t, []string{"instanceTerminationAction is DELETE, which Compute refuses on demand; make a template without"}, excludes(mig.Template{Termination: "DELETE"}, mig.Standard))
	assert.Empty(t, excludes(mig.Template{Termination: "DELETE"}, mig.Spot))
}

func TestGPUTypeReturnsTheCommonName(t *testing.T) {
	for accelerator, want := range map[string]string{
		"nvidia-h100-80gb": "h100", "nvidia-h100-mega-80gb": "h100", "nvidia-h200-141gb": "h200", "nvidia-b200": "b200",
		"nvidia-a100-80gb": "a100", "nvidia-tesla-a100": "a100", "nvidia-tesla-t4": "t4", "nvidia-tesla-v100": "v100",
		"nvidia-l4": "l4", "nvidia-l4-vws": "l4", "nvidia-rtx-pro-6000": "rtx-pro-6000", "": "",
	} {
		assert.Equal(t, want, gpuType(accelerator), accelerator)
	}
}
