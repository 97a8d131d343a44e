package rules

import (
	"fmt"
	"slices"
	"time"

	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/demand"
	"slurmflex/slurm"
)

// leaseTooShort returns a waiting job to Slurm if one of its other nodes is up with the machine of
// an earlier job, and that machine's lease ends before the job could finish even if it started now.
// Slurm checked the lease only when it allocated the node.
func leaseTooShort(w *demand.Wanted, c *demand.Claim) Ruling {
	if c.Job == nil || c.Job.State == slurm.JobRunning || len(c.Nodes) == len(c.Job.Nodes) {
		return Ruling{}
	}
	for _, name := range slices.Sorted(slices.Values(c.Job.Nodes)) {
		end := w.ShortEnd(c.Job, w.Node(name))
		if end.IsZero() {
			continue
		}
		if len(takeable(w.Scene, c.Job, false)) == 0 {
			return Ruling{}
		}
		return giveUp(w, c, action.Requeue, false, "lease-too-short", fmt.Sprintf("the lease of node %s, which is up, ends at %s, before the job could finish",
			name, end.UTC().Format(time.RFC3339)))
	}
	return Ruling{}
}
