package plan

import (
	"fmt"

	"slurmflex/mig"
)

// CreatePolicy makes the workload policy that places a group's nodes close
// together. It bears the group's name.
type CreatePolicy struct {
	Spec mig.PolicySpec
	Why
}

// DeletePolicy deletes a workload policy that no group uses.
type DeletePolicy struct {
	Region, Name string
	Why
}

func (a CreatePolicy) String() string {
	return fmt.Sprintf("create workload policy %s in %s", a.Spec.Name, a.Spec.Region)
}

func (a DeletePolicy) String() string { return "delete workload policy " + a.Name }

// Queue is the group's, so that a policy comes before its group.
func (a CreatePolicy) Queue() string { return a.Spec.Region + "/" + a.Spec.Name }

func (a DeletePolicy) Queue() string { return a.Region + "/" + a.Name }
