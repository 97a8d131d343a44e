package rules

import (
	"fmt"

	"slurmflex/flex/plan/demand"
)

// componentsFirst: the first component of a heterogeneous job waits until the others have machines.
// The job's script runs in the first component. If the script has not started a minute or more
// after that component's nodes are up, slurmctld counts it as lost and requeues the job, and all
// machines would be requested again. Source: a test on Slurm 22.05.
func componentsFirst(w *demand.Wanted, c *demand.Claim) Ruling {
	if !c.IsFirst() || !w.Incomplete[c.Job.HetID] {
		return Ruling{}
	}
	return Ruling{Do: Waits, Why: fmt.Sprintf("the other components of job %d are requested first, because this one runs the script",
		c.Job.HetID)}
}
