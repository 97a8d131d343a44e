package plan

import "fmt"

// nodesetBlocked: too many instances of the nodeset in a row did not come up.
func nodesetBlocked(w *wanted, c *cohort) verdict {
	n := w.scene.Blocked(c.set)
	if n == 0 {
		return verdict{}
	}
	return verdict{do: waits, why: blockedText(c.set.Name, n) + "; ask an admin"}
}

func blockedText(nodeset string, n int) string {
	return fmt.Sprintf("nodeset %s is blocked because %d machines in a row failed to boot", nodeset, n)
}
