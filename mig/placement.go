package mig

import (
	"strings"
	"time"
)

// Policy is a workload policy that carries our stamp: it has the instances of
// the groups that name it placed close together.
type Policy struct {
	Name     string
	Region   string
	Stamp    Stamp
	Distance string // maxTopologyDistance in the API's words; empty: as close as can be had
	Created  time.Time
	Unread   string // what of it could not be read; empty if all was. It is there, and stays
}

// PolicySpec says what a new workload policy must be.
type PolicySpec struct {
	Name     string // begins with the cluster's name and a hyphen, or Policies does not find it
	Region   string
	Distance string // as PlacementLimit names it
	Stamp    Stamp
}

// PlacementLimit is how many instances of a machine type one workload policy
// may hold within a distance, and the distance's name in the API. The distances
// are those of slurm-gcp's placement_max_distance: 1 is a sub-block, 2 a block,
// 3 a cluster, and 0 leaves it to Compute, which names none. It is false for a
// machine type that workload policies do not support, or not at that distance.
//
// A limit may be above MaxInstances: a resize request has its own.
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
