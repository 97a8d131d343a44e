package memo

import (
	"fmt"
	"strconv"
	"strings"
)

// Names are derived from the cluster, the nodeset and the job (or node), never from random numbers.
// A second run of the same pass therefore finds what the first run created.

// JobGroup returns the name of the group for a job's nodes of one nodeset. A job with more nodes
// than fit in one group has further parts, counted from 1.
func JobGroup(cluster, nodeset string, job uint32, part int) string {
	name := cluster + "-" + nodeset + "-job-" + strconv.FormatUint(uint64(job), 10)
	if part > 0 {
		name += "-p" + strconv.Itoa(part)
	}
	return name
}

// SharedGroup returns the name of a group that tasks of an array share in one nodeset or, if array
// is 0, one-node jobs of the user with that key. If they have more nodes than fit in one group, there
// are further parts, counted from 1.
func SharedGroup(cluster, nodeset string, array uint32, user string, part int) string {
	name := fmt.Sprintf("%s-%s-usr-%s", cluster, nodeset, user)
	if array != 0 {
		name = fmt.Sprintf("%s-%s-arr-%d", cluster, nodeset, array)
	}
	if part > 0 {
		name += "-p" + strconv.Itoa(part)
	}
	return name
}

// NodeGroup returns the name of the group for a single node that is requested alone.
func NodeGroup(cluster, nodeset string, index int) string {
	return fmt.Sprintf("%s-%s-node-%d", cluster, nodeset, index)
}

const replacementMark = "-r"

// Replacement returns the name of the n-th group that replaces the named group.
func Replacement(group string, n int) string { return group + replacementMark + strconv.Itoa(n) }

// Replaced returns the name of the group that the named group replaces, or the name itself.
func Replaced(group string) string {
	if at := strings.LastIndex(group, replacementMark); at >= 0 {
		if _, err := strconv.ParseUint(group[at+len(replacementMark):], 10, 0); err == nil {
			return group[:at]
		}
	}
	return group
}

// NextAttempt returns the name of the request that follows the named requests: a1, a2, … Compute
// keeps finished requests for 14 days, so a name can recur only after Compute has deleted the
// earlier record, when the two no longer conflict.
func NextAttempt(requests []string) string {
	last := 0
	for _, name := range requests {
		if n, err := strconv.Atoi(strings.TrimPrefix(name, "a")); err == nil {
			last = max(last, n)
		}
	}
	return "a" + strconv.Itoa(last+1)
}
