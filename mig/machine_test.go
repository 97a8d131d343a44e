package mig

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

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
		want := []string(nil)
		template := Template{
			Model: "FLEX_START", MaxRun: 2 * time.Hour, Termination: "DELETE", Maintenance: "TERMINATE", Reservation: "NO_RESERVATION",
		}
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

func TestMachineIncludesGPUsAttachedByTemplate(t *testing.T) {
	n1 := MachineType{Name: "n1-standard-8"}
	assert.Equal(t, MachineType{Name: "n1-standard-8", GPU: "nvidia-tesla-t4", GPUs: 2}, Template{GPU: "nvidia-tesla-t4", GPUs: 2}.Machine(n1))
	a3, _ := KnownMachine("a3-highgpu-8g")
	assert.Equal(t, a3, Template{GPU: "nvidia-h100-80gb", GPUs: 8}.Machine(a3))
	assert.Equal(t, n1, Template{}.Machine(n1))
}
