package plan

import "fmt"

// nodesetBlocked: too many consecutive instances of the nodeset did not boot.
func nodesetBlocked(w *wanted, c *cohort) verdict {
	n := w.scene.Blocked(c.set)
	if n == 0 {
		return verdict{}
	}
	return verdict{do: waits, why: fmt.Sprintf("nodeset %s is blocked because %d machines in a row failed to boot; ask an admin", c.set.Name, n)}
}
