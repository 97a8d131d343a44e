package mig

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestFlexStartSupportsGPUMachinesAndH4D(t *testing.T) {
	for name, want := range map[string]bool{
		"g2-standard-4": true, "h4d-standard-192": true, "n1-standard-8": true, "n2-standard-2": false, "a4x-highgpu-4g": false,
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
		metric, shown := Region{Quotas: test.shows}.GPUQuota("nvidia-l4", false)
		if assert.Equal(t, test.want != "", shown, name); shown {
			assert.Equal(t, test.want, metric, name)
		}
	}
	both := Region{Quotas: quotas{standard: 8, preemptible: 16}}
	metric, shown := both.GPUQuota("nvidia-l4", true)
	assert.True(t, shown)
	assert.Equal(t, standard, metric, "on demand")
	_, shown = both.GPUQuota("nvidia-z", false)
	assert.False(t, shown, "a type of the future")
}

func fit() Template {
	return Template{
		Model: "FLEX_START", MaxRun: 2 * time.Hour, Termination: "DELETE", Maintenance: "TERMINATE", Reservation: "NO_RESERVATION",
	}
}

func TestContradictionNamesItsCauseAndFix(t *testing.T) {
	const without = "without, and set enable_placement if nodes must be close together"
	for name, test := range map[string]struct {
		change  func(*Template)
		is, fix string // empty: no contradiction
	}{
		"fit":                        {func(*Template) {}, "", ""},
		"fit, with the shortest run": {func(t *Template) { t.MaxRun = 600 * time.Second }, "", ""},
		"fit, with the longest run":  {func(t *Template) { t.MaxRun = 7 * 24 * time.Hour }, "", ""},
		"billed on demand by default": {
			func(t *Template) { t.Model = "" }, "provisioningModel is missing, which means STANDARD", "with FLEX_START",
		},
		"without an end":        {func(t *Template) { t.MaxRun = 0 }, "maxRunDuration is missing", "with 600 to 604800 s"},
		"with too early an end": {func(t *Template) { t.MaxRun = 599 * time.Second }, "maxRunDuration is 599 s", "with 600 to 604800 s"},
		"with too late an end":  {func(t *Template) { t.MaxRun = 604801 * time.Second }, "maxRunDuration is 604801 s", "with 600 to 604800 s"},
		"stopped at its end":    {func(t *Template) { t.Termination = "STOP" }, "instanceTerminationAction is STOP", "with DELETE"},
		"moved for maintenance": {func(t *Template) { t.Maintenance = "MIGRATE" }, "onHostMaintenance is MIGRATE", "with TERMINATE"},
		"from a reservation": {
			func(t *Template) { t.Reservation = "SPECIFIC_RESERVATION" }, "consumeReservationType is SPECIFIC_RESERVATION", "with NO_RESERVATION",
		},
		"from any reservation by default": {
			func(t *Template) { t.Reservation = "" }, "consumeReservationType is missing, which means ANY_RESERVATION", "with NO_RESERVATION",
		},
		"with a placement policy": {func(t *Template) { t.Policies = []string{"compact", "near"} }, "resourcePolicies has compact, near", without},
	} {
		template, want := fit(), []string(nil)
		test.change(&template)
		if test.is != "" {
			want = []string{test.is + "; make a template " + test.fix}
		}
		assert.Equal(t, want, template.Contradictions(), name)
	}
}

func TestContradictionsListsAllFaults(t *testing.T) {
	assert.Len(t, Template{Policies: []string{"compact"}}.Contradictions(), 6)
}

func TestPlacementLimitDependsOnMachineTypeAndDistance(t *testing.T) {
	tests := []struct {
		machineType string
		distance    int
		limit       int
		name        string
		ok          bool
	}{
		{"a3-ultragpu-8g", 0, 1500, "", true},
		{"a3-ultragpu-8g", 2, 256, "BLOCK", true},
		{"a4-highgpu-8g", 1, 22, "SUBBLOCK", true},
		{"a4-highgpu-8g", 2, 150, "BLOCK", true},
		{"a4-highgpu-8g", 3, 1500, "CLUSTER", true},
		{"h4d-standard-192", -1, 0, "", false},
		{"a3-megagpu-8g", 2, 0, "", false},
		{"a3-highgpu-8g", 0, 0, "", false},
	}
	for _, test := range tests {
		limit, name, ok := PlacementLimit(test.machineType, test.distance)
		got := []any{limit, name, ok}
		assert.Equal(t, []any{test.limit, test.name, test.ok}, got, "%s at %d", test.machineType, test.distance)
	}
}

func TestExcludesNamesSettingsThatPreventAModel(t *testing.T) {
	flex := fit()
	assert.Empty(t, flex.Excludes(FlexStart))
	assert.Equal(t, []string{"maxRunDuration is 7200 s, after which Compute deletes the machines; make a template without"}, flex.Excludes(Spot))
	assert.Equal(t, []string{"instanceTerminationAction is DELETE, which Compute refuses on demand; make a template without"}, Template{Termination: "DELETE"}.Excludes(Standard))
	assert.Empty(t, Template{Termination: "DELETE"}.Excludes(Spot))
}

func TestGPUTypeReturnsTheCommonName(t *testing.T) {
	for accelerator, want := range map[string]string{
		"nvidia-h100-80gb": "h100", "nvidia-h100-mega-80gb": "h100", "nvidia-h200-141gb": "h200", "nvidia-b200": "b200",
		"nvidia-a100-80gb": "a100", "nvidia-tesla-a100": "a100", "nvidia-tesla-t4": "t4", "nvidia-tesla-v100": "v100",
		"nvidia-l4": "l4", "nvidia-l4-vws": "l4", "nvidia-rtx-pro-6000": "rtx-pro-6000", "": "",
	} {
		assert.Equal(t, want, GPUType(accelerator), accelerator)
	}
}

func TestMachineIncludesGPUsAttachedByTemplate(t *testing.T) {
	n1 := MachineType{Name: "n1-standard-8"}
	assert.Equal(t, MachineType{Name: "n1-standard-8", GPU: "nvidia-tesla-t4", GPUs: 2}, Template{GPU: "nvidia-tesla-t4", GPUs: 2}.Machine(n1))
	a3, _ := KnownMachine("a3-highgpu-8g")
	assert.Equal(t, a3, Template{GPU: "nvidia-h100-80gb", GPUs: 8}.Machine(a3))
	assert.Equal(t, n1, Template{}.Machine(n1))
}
