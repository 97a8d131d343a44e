package mig

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestAPlacementHoldsWhatItsMachineTypeAndDistanceAllow(t *testing.T) {
	tests := []struct {
		machineType string
		distance    int
		limit       int
		name        string
		ok          bool
	}{
		{"a3-ultragpu-8g", 0, 1500, "", true},
		{"a3-ultragpu-8g", 1, 0, "", false},
		{"a3-ultragpu-8g", 2, 256, "BLOCK", true},
		{"a3-ultragpu-8g", 3, 1500, "CLUSTER", true},
		{"a4-highgpu-8g", 0, 1500, "", true},
		{"a4-highgpu-8g", 1, 22, "SUBBLOCK", true},
		{"a4-highgpu-8g", 2, 150, "BLOCK", true},
		{"a4-highgpu-8g", 3, 1500, "CLUSTER", true},
		{"h4d-standard-192", 1, 22, "SUBBLOCK", true},
		{"h4d-highmem-192-lssd", 2, 150, "BLOCK", true},
		{"h4d-standard-192", 4, 0, "", false},
		{"h4d-standard-192", -1, 0, "", false},
		{"a3-megagpu-8g", 2, 0, "", false},
		{"a3-highgpu-8g", 0, 0, "", false},
		{"a4x-highgpu-4g", 2, 0, "", false},
		{"n2-standard-2", 3, 0, "", false},
		{"", 0, 0, "", false},
	}
	for _, test := range tests {
		t.Run(fmt.Sprintf("%s at %d", test.machineType, test.distance), func(t *testing.T) {
			limit, name, ok := PlacementLimit(test.machineType, test.distance)
			assert.Equal(t, test.limit, limit)
			assert.Equal(t, test.name, name)
			assert.Equal(t, test.ok, ok)
		})
	}
}
