package plan

import (
	"fmt"
	"strconv"
	"strings"

	"slurmflex/mig"
)

// Names come from the cluster, the nodeset and the job (or node), never from
// chance, so that a second run of the same round finds what the first one made.

// jobGroup is the name of the group for a job's nodes of one nodeset. A job of
// more nodes than fit into one group has further parts, counted from 1.
func jobGroup(cluster, nodeset string, job uint32, part int) string {
	name := fmt.Sprintf("%s-%s-job-%d", cluster, nodeset, job)
	if part > 0 {
		name += "-p" + strconv.Itoa(part)
	}
	return name
}

// nodeGroup is the name of the group for one node that is obtained by itself.
func nodeGroup(cluster, nodeset string, index int) string {
	return fmt.Sprintf("%s-%s-node-%d", cluster, nodeset, index)
}

// nextAttempt names the request that follows those on record: a1, a2, …
// Compute keeps finished requests for 14 days, so no name comes twice while it
// matters; if the record is gone, so is the conflict.
func nextAttempt(requests []mig.Request) string {
	last := 0
	for _, r := range requests {
		if n, err := strconv.Atoi(strings.TrimPrefix(r.Name, "a")); err == nil {
			last = max(last, n)
		}
	}
	return "a" + strconv.Itoa(last+1)
}
