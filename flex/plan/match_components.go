package plan

// noteComponents records the heterogeneous jobs that still lack machines in a component other than
// the first.
func (w *wanted) noteComponents() {
	for _, c := range w.cohorts {
		if c.job != nil && c.job.HetID != 0 && !c.isFirst() && len(w.scene.WithoutMachine(c.nodes)) > 0 {
			w.incomplete[c.job.HetID] = true
		}
	}
}

// isFirst reports whether the cohort belongs to a heterogeneous job's first component.
func (c *cohort) isFirst() bool { return c.job != nil && c.job.HetID == c.job.ID }
