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
		if c.Job != nil && c.Job.HetID != 0 && !c.IsFirst() && len(w.Scene.WithoutMachine(c.Nodes)) > 0 {
			w.Incomplete[c.Job.HetID] = true
		}
		if c.IsFirst() && c.Door != nil && !areAllPlaced(w.Scene, c.Job.HetID) {
			w.Incomplete[c.Job.HetID] = true
		}
	}
}

// areAllPlaced reports whether each waiting component of a heterogeneous job in a flex nodeset has a
// door.
func areAllPlaced(s *scene.Scene, id uint32) bool {
	ours := map[*config.NodeSet]bool{}
	for _, set := range s.Config.FlexSets() {
		ours[set] = true
	}
	return !slices.ContainsFunc(s.Seen.Jobs, func(j slurm.Job) bool {
		return j.HetID == id && j.State.Waits() && len(s.DoorsOf(j.ID)) == 0 && len(PlacesOf(s, ours, &j)) > 0
	})
}

// IsFirst reports whether the claim belongs to a heterogeneous job's first component.
func (c *Claim) IsFirst() bool { return c.Job != nil && c.Job.HetID == c.Job.ID }
