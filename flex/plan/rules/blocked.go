package rules

import (
	"fmt"

	"slurmflex/flex/plan/demand"
)

// nodesetBlocked: too many consecutive instances of the nodeset did not boot.
func nodesetBlocked(w *demand.Wanted, c *demand.Claim) Verdict {
	n := w.Scene.Blocked(c.Set)
	if n == 0 {
		return Verdict{}
	}
	return Verdict{Do: Waits, Why: fmt.Sprintf("nodeset %s is blocked because %d machines in a row failed to boot; ask an admin", c.Set.Name, n)}
}
