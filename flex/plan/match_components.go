package plan

// noteComponents notes the heterogeneous jobs of which a component other than the
// first has nodes without a machine.
func (w *wanted) noteComponents() {
	for _, c := range w.cohorts {
		if c.job != nil && c.job.HetID != 0 && !c.isFirst() && len(w.scene.WithoutMachine(c.nodes)) > 0 {
			w.incomplete[c.job.HetID] = true
		}
	}
}

// isFirst reports whether the cohort is of a heterogeneous job's first component.
func (c *cohort) isFirst() bool { return c.job != nil && c.job.HetID == c.job.ID }
