package fakeslurm

import (
	"slices"
	"strconv"
	"strings"
)

// suits reports whether the node has what the job requests of it, and is not excluded.
func (j *job) suits(n *node) bool {
	has := func(feature string) bool { return feature == "" || slices.Contains(n.features, feature) }
	return !slices.Contains(j.excluded, n) && slices.ContainsFunc(strings.Split(j.spec.Features, "|"), has) && hasGres(n.gres, j.spec.Gres)
}

// hasGres reports whether a node with GRES such as gpu:h100:8 has those of a job, such as gpu:h100:4.
func hasGres(has, wants string) bool {
	if wants == "" {
		return true
	}
	all, typed := has[:max(strings.LastIndex(has, ":"), 0)], wants[:strings.LastIndex(wants, ":")]
	count, _ := strconv.Atoi(has[len(all):][min(1, len(has)-len(all)):])
	needs, _ := strconv.Atoi(wants[len(typed)+1:])
	return all == typed && count >= needs
}

// suitsEnough reports whether enough nodes of the partition suit the job.
func (j *job) suitsEnough(in *partition) bool {
	suiting := slices.DeleteFunc(slices.Clone(in.nodes), func(n *node) bool { return !j.suits(n) })
	return slices.ContainsFunc(together(j, suiting, itself), func(nodes []*node) bool { return len(nodes) >= j.count })
}

// together returns the lists of what belongs to nodes that a job may choose from: one list, or one for
// each switch if the job must get nodes of one switch.
func together[T any](j *job, all []T, of func(T) *node) (lists [][]T) {
	if !j.spec.OneSwitch {
		return [][]T{all}
	}
	at := map[string]int{}
	for _, one := range all {
		leaf := of(one).leaf
		if _, known := at[leaf]; !known {
			at[leaf] = len(lists)
			lists = append(lists, nil)
		}
		lists[at[leaf]] = append(lists[at[leaf]], one)
	}
	return lists
}

func itself(n *node) *node { return n }

// isHopeless reports whether the job can start in none of its partitions, ever.
func (j *job) isHopeless() bool {
	return slices.ContainsFunc(j.named, func(n *node) bool { return !j.suits(n) }) || !slices.ContainsFunc(j.partitions, j.suitsEnough)
}

// depends reports whether the job waits for another job to end.
func (c *Cluster) depends(j *job) bool {
	first := c.jobs[j.spec.After]
	return first != nil && slices.ContainsFunc(c.queue, func(other *job) bool { return !other.over() && (other.id == first.id || other.arrayID == first.id) })
}

// Suits reports whether the pending job may start on the nodes: they are what it requests, and it waits for
// no other job.
func (c *Cluster) Suits(id uint32, nodes []string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	j := c.jobs[id]
	if j == nil {
		return true
	}
	known, _ := c.known(nodes)
	return !c.depends(j) && len(together(j, known, itself)) <= 1 && !slices.ContainsFunc(known, func(n *node) bool { return !j.suits(n) })
}
