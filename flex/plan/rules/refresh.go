package rules

import (
	"fmt"

	"slurmflex/flex/plan/demand"
	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
)

// refreshOldest replaces the request that has waited longest, if it has waited longer than its
// nodeset's refresh_after. Each pass replaces one request, so that a queue of requests does not
// lose all its positions at Google at once. refreshOldest keeps a request that creates machines,
// and a request that could not be made again now.
func refreshOldest(w *demand.Wanted) {
	var oldest *demand.Claim
	for _, c := range w.Claims {
		after := c.Set.Flex.RefreshAfter
		if after == 0 || c.Live == nil || !w.IsOld(c.Live.Request.Created, after) || !demand.OnlyWaits(w.Scene, c.Live) {
			continue
		}
		if (oldest == nil || c.Live.Request.Created.Before(oldest.Live.Request.Created)) && mayAsk(w, c) == BarsNothing {
			oldest = c
		}
	}
	if oldest == nil {
		return
	}
	old := oldest.Live.Request
	w.Withdraw(old, fmt.Sprintf("it has waited for %s (refresh_after %s)",
		scene.Roughly(w.Seen.Now.Sub(old.Created)), slurm.Clock(oldest.Set.Flex.RefreshAfter)))
}
