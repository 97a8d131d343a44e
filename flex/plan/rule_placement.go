package plan

import (
	"fmt"

	"slurmflex/flex/plan/action"
)

// cannotPlace: the machines cannot be placed as the nodeset requires, or it is unknown whether they
// can.
func cannotPlace(w *wanted, c *cohort) verdict {
	if !c.set.Placement {
		return verdict{}
	}
	if err := w.scene.Seen.UnseenPolicies[c.set.Region]; err != nil {
		return unreadFor(c, "policies-unread", err)
	}
	if _, _, ok := placement(w.scene, c.set); !ok {
		return giveUp(w, c, action.Hold, true, "placement", fmt.Sprintf("nodeset %s: enable_placement with placement_max_distance %d is not available for %s; set it to false",
			c.set.Name, c.set.PlacementDistance, w.scene.MachineType(c.set))).decided()
	}
	return verdict{}
}
