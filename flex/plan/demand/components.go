package demand

import (
	"slices"

	"slurmflex/config"
	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
)

// noteComponents records the heterogeneous jobs that still lack machines in a component other than
// the first.
func (w *Wanted) noteComponents() {
	for _, c := range w.Claims {
		if c.Job != nil && c.Job.HetID != 0 && !c.IsFirst() && len(w.WithoutMachine(c.Nodes)) > 0 {
			w.Incomplete[c.Job.HetID] = true
		}
		if c.IsFirst() && c.Door != nil && lacksDoor(w.Scene, c.Job.HetID, nil) {
			w.Incomplete[c.Job.HetID] = true
		}
	}
}

// lacksDoor reports whether a component of a heterogeneous job waits in one of the nodesets without a
// door. Slurm plans all components at once, and none while one of them uses a door.
func lacksDoor(s *scene.Scene, hetID uint32, sets map[*config.NodeSet]bool) bool {
	return slices.ContainsFunc(s.Seen.Jobs, func(j slurm.Job) bool {
		return j.HetID == hetID && j.State.Waits() && len(s.DoorsOf(j.ID)) == 0 && len(s.PlacesOf(sets, &j)) > 0
	})
}

// IsFirst reports whether the claim belongs to a heterogeneous job's first component.
func (c *Claim) IsFirst() bool { return c.Job != nil && c.Job.HetID == c.Job.ID }
