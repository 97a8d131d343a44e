package plan

import (
	"fmt"
	"slices"
	"time"

	"slurmflex/slurm"
)

// leaseTooShort gives a job back that waits for nodes, while another of its nodes is up
// that came for another job, and whose lease ends before the job could finish even
// if it began now: Slurm judged that when it gave it the nodes.
func leaseTooShort(w *wanted, c *cohort) verdict {
	if c.job == nil || c.job.State == slurm.JobRunning || len(c.nodes) == len(c.job.Nodes) {
		return verdict{}
	}
	for _, name := range slices.Sorted(slices.Values(c.job.Nodes)) {
		end := w.scene.ShortEnd(c.job, w.scene.Node(name))
		if end.IsZero() {
			continue
		}
		if len(takeable(w.scene, c.job, false)) == 0 {
			return verdict{}
		}
		return w.giveUp(c, Requeue, false, "lease-too-short", fmt.Sprintf("the lease of node %s, which is up, ends at %s, before the job could finish",
			name, end.UTC().Format(time.RFC3339)))
	}
	return verdict{}
}
