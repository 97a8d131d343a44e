package plan

import (
	"fmt"

	"slurmflex/mig"
	"slurmflex/slurm"
)

// BulkInsert makes instances without a group: the legacy path of
// use_bulk_insert. It is all or nothing, and does not wait for capacity.
type BulkInsert struct {
	Group string // the name that the cohort's group would have
	Spec  mig.BulkSpec
	Why
}

// DeleteVMs deletes instances of ours that no group made.
type DeleteVMs struct {
	Instances []mig.Instance
	Why
}

func (a BulkInsert) String() string {
	return fmt.Sprintf("insert %s in %s for %s", counted(a.Spec.Instances),
		a.Spec.Region, clock(a.Spec.Duration))
}

func (a DeleteVMs) String() string { return "delete instances " + slurm.Fold(mig.Names(a.Instances)) }

// Queue is the cohort's.
func (a BulkInsert) Queue() string { return a.Spec.Region + "/" + a.Group }

// Queue is one for all: the calls go side by side.
func (a DeleteVMs) Queue() string { return "instances" }
