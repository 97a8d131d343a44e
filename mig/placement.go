package mig

import (
	"strings"
	"time"
)

// Policy is a workload policy with our stamp. Compute places the instances of the groups that use
// the policy close together.
type Policy struct {
	Name     string
	Region   string
	Stamp    Stamp
	Distance string // maxTopologyDistance in the API's words; empty: as close as possible
	Created  time.Time
	Unread   string // the parts that could not be read; empty: none. If set, the policy exists and must be kept
}

// PolicySpec describes a new workload policy.
type PolicySpec struct {
	Name     string // must begin with the cluster's name and a hyphen, because Policies filters by this prefix
	Region   string
	Distance string // as returned by PlacementLimit
	Stamp    Stamp
}

// PlacementLimit returns the most instances of a machine type that one workload policy may hold
// within a distance, and the API's name for that distance. Distances are those of slurm-gcp's
// placement_max_distance: 1 is a subblock, 2 a block, 3 a cluster; 0 leaves the distance to Compute
// and has an empty name. ok is false if workload policies do not support the machine type, or not
// at this distance.
//
// The limit may exceed MaxInstances, which bounds one resize request.
func PlacementLimit(machineType string, distance int) (limit int, name string, ok bool) {
	a3 := strings.HasPrefix(machineType, "a3-ultragpu-")
	if !a3 && !strings.HasPrefix(machineType, "a4-") && !strings.HasPrefix(machineType, "h4d-") {
		return 0, "", false
	}
	switch distance {
	case 0:
		return 1500, "", true
	case 1:
		if a3 {
			return 0, "", false
		}
		return 22, "SUBBLOCK", true
	case 2:
		if a3 {
			return 256, "BLOCK", true
		}
		return 150, "BLOCK", true
	case 3:
		return 1500, "CLUSTER", true
	}
	return 0, "", false
}
