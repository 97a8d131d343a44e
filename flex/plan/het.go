package plan

import "fmt"

// noteComponents notes the heterogeneous jobs of which a component other than the
// first has nodes without a machine.
func (w *world) noteComponents(cohorts []*cohort) {
	for _, c := range cohorts {
		if c.job != nil && c.job.HetID != c.job.ID && len(w.withoutMachine(c.nodes)) > 0 {
			w.incomplete[c.job.HetID] = true
		}
	}
}

// goesLast reports whether a cohort has to let others go first: those of the same
// heterogeneous job's other components. Its script is in the first component, and
// slurmctld takes a script for lost that has not begun a minute or more after the
// first component's nodes are up: it requeues the job, and all would be asked for
// anew. Source: a trial on 22.05.
func (w *world) goesLast(c *cohort) bool {
	if c.job == nil || c.job.HetID != c.job.ID || !w.incomplete[c.job.HetID] {
		return false
	}
	c.obstacle = fmt.Sprintf("the other components of job %d come first: "+
		"the script is in this one, and Slurm takes it for lost if they come later", c.job.HetID)
	return true
}
