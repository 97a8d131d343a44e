package memo

import (
	"fmt"
	"strconv"
	"strings"
)

// Names come from the cluster, the nodeset and the job (or node), never from
// chance, so that a second run of the same pass finds what the first one made.

// JobGroup is the name of the group for a job's nodes of one nodeset. A job of
// more nodes than fit into one group has further parts, counted from 1.
func JobGroup(cluster, nodeset string, job uint32, part int) string {
	name := cluster + "-" + nodeset + "-job-" + strconv.FormatUint(uint64(job), 10)
	if part > 0 {
		name += "-p" + strconv.Itoa(part)
	}
	return name
}

// ArrayGroup is the name of a group that tasks of an array share in one nodeset. An
// array of more nodes than fit into one group has further parts, counted from 1.
func ArrayGroup(cluster, nodeset string, array uint32, part int) string {
	name := fmt.Sprintf("%s-%s-arr-%d", cluster, nodeset, array)
	if part > 0 {
		name += "-p" + strconv.Itoa(part)
	}
	return name
}

// NodeGroup is the name of the group for one node that is obtained by itself.
func NodeGroup(cluster, nodeset string, index int) string {
	return fmt.Sprintf("%s-%s-node-%d", cluster, nodeset, index)
}

const replacementMark = "-r"

// Replacement is the name of the n-th group that replaces the one of that name.
func Replacement(group string, n int) string { return group + replacementMark + strconv.Itoa(n) }

// Replaced is the name of the group that one of this name replaces, or the name itself.
func Replaced(group string) string {
	if at := strings.LastIndex(group, replacementMark); at >= 0 {
		if _, err := strconv.ParseUint(group[at+len(replacementMark):], 10, 0); err == nil {
			return group[:at]
		}
	}
	return group
}

// NextAttempt names the request that follows those of these names: a1, a2, …
// Compute keeps finished requests for 14 days, so no name comes twice while it
// matters; if the record is gone, so is the conflict.
func NextAttempt(requests []string) string {
	last := 0
	for _, name := range requests {
		if n, err := strconv.Atoi(strings.TrimPrefix(name, "a")); err == nil {
			last = max(last, n)
		}
	}
	return "a" + strconv.Itoa(last+1)
}
