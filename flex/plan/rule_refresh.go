package plan

import (
	"fmt"

	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
)

// refreshOldest replaces the request that has waited longest, if it has waited longer than its
// nodeset's refresh_after. Each pass replaces one request, so that a queue of requests does not
// lose all its positions at Google at once. refreshOldest keeps a request that creates machines,
// and a request that could not be made again now.
func refreshOldest(w *wanted) {
	var oldest *cohort
	for _, c := range w.cohorts {
		after := c.set.Flex.RefreshAfter
		if after == 0 || c.live == nil || !w.scene.IsOld(c.live.Request.Created, after) || !onlyWaits(w.scene, c.live) {
			continue
		}
		if (oldest == nil || c.live.Request.Created.Before(oldest.live.Request.Created)) && mayAsk(w, c) == barsNothing {
			oldest = c
		}
	}
	if oldest == nil {
		return
	}
	old := oldest.live.Request
	w.withdraw(old, fmt.Sprintf("it has waited for %s (refresh_after %s)",
		scene.Roughly(w.scene.Seen.Now.Sub(old.Created)), slurm.Clock(oldest.set.Flex.RefreshAfter)))
}
