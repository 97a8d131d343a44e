package rules

import (
	"fmt"

	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/demand"
)

// cannotPlace: the machines cannot be placed as the nodeset requires, or it is unknown whether they
// can.
func cannotPlace(w *demand.Wanted, c *demand.Claim) Ruling {
	if !c.Set.Placement {
		return Ruling{}
	}
	if err := w.Seen.UnseenPolicies[c.Set.Region]; err != nil {
		return unreadFor(c, "policies-unread", err)
	}
	if _, _, ok := demand.Placement(w.Scene, c.Set); !ok {
		return giveUp(w, c, action.Hold, true, "placement", fmt.Sprintf("nodeset %s: enable_placement with placement_max_distance %d is not available for %s; set it to false",
			c.Set.Name, c.Set.PlacementDistance, w.MachineType(c.Set))).decided()
	}
	return Ruling{}
}
