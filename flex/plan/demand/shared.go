package demand

import (
	"slices"

	"slurmflex/config"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// sharersOf returns the stamp of the jobs that may share a group with the job: the tasks of its
// array or, if share_requests allows more than one machine in a request, the jobs of its user. It
// is empty if the job has a group of its own. Each job that shares has a single node, so its place
// in the network does not matter.
func sharersOf(set *config.NodeSet, job *slurm.Job) mig.Stamp {
	if len(job.Nodes) != 1 || job.HetID != 0 || set.Placement || set.Flex.UseBulkInsert || job.Array() == 0 && set.Flex.ShareRequests < 2 {
		return mig.Stamp{}
	}
	return mig.Sharers(job.Array(), job.User)
}

// Shares reports whether other jobs may be in the claim's group.
func (c *Claim) Shares() bool { return c.Stamp.Shared() }

// Outcome returns the claim's key in Snapshot.Refused and Snapshot.Asked, given the name of its
// group. Requests in a shared group fail independently of each other, so each has its own key.
func (c *Claim) Outcome(group string) string {
	if c.Shares() {
		return Outcome(group, c.Nodes[0])
	}
	return group
}

// Outcome returns the key in Snapshot.Refused of a request for a node in a shared group.
func Outcome(group, node string) string { return group + "/" + node }

// RequestsOf returns a group's requests for the claim, oldest first. In a shared group these are
// the requests that name the claim's node.
func (c *Claim) RequestsOf(g *mig.Group) (made []mig.Request) {
	switch {
	case g == nil:
		return nil
	case !g.Stamp.Shared():
		return g.Requests
	}
	for i := range g.Requests {
		if slices.ContainsFunc(c.Nodes, g.Requests[i].Names) {
			made = append(made, g.Requests[i])
		}
	}
	return made
}
