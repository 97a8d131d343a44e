package demand

// noteComponents records the heterogeneous jobs that still lack machines in a component other than
// the first.
func (w *Wanted) noteComponents() {
	for _, c := range w.Claims {
		if c.Job != nil && c.Job.HetID != 0 && !c.IsFirst() && len(w.Scene.WithoutMachine(c.Nodes)) > 0 {
			w.Incomplete[c.Job.HetID] = true
		}
	}
}

// IsFirst reports whether the claim belongs to a heterogeneous job's first component.
func (c *Claim) IsFirst() bool { return c.Job != nil && c.Job.HetID == c.Job.ID }
