package plan

import (
	"fmt"
)

// componentsFirst: the first component of a heterogeneous job lets the others go first.
// The job's script is in it, and slurmctld takes a script for lost that has not begun a
// minute or more after the first component's nodes are up: it requeues the job, and all
// would be requested again. Source: a trial on 22.05.
func componentsFirst(w *wanted, c *cohort) verdict {
	if !c.isFirst() || !w.incomplete[c.job.HetID] {
		return verdict{}
	}
	return verdict{do: waits, why: fmt.Sprintf("the other components of job %d are requested first, because this one runs the script",
		c.job.HetID)}
}
