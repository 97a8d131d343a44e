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
	return len(slices.DeleteFunc(slices.Clone(in.nodes), func(n *node) bool { return !j.suits(n) })) >= j.count
}

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
	return j == nil || !c.depends(j) && !slices.ContainsFunc(nodes, func(name string) bool { return !j.suits(c.byName[name]) })
}
