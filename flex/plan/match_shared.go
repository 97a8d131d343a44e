package plan

import (
	"slices"

	"slurmflex/config"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// mayShare reports whether the job's node comes by a group that it shares with other
// tasks of its array: each has one node, so that none is part of a gang, and where on
// the network it is does not matter.
func mayShare(set *config.NodeSet, job *slurm.Job) bool {
	return job.Array() != 0 && len(job.Nodes) == 1 && job.HetID == 0 && !set.Placement && !set.Flex.UseBulkInsert
}

// shares reports whether other tasks of an array may be in the cohort's group.
func (c *cohort) shares() bool { return c.stamp.Array != 0 }

// outcome is the key in Snapshot.Refused of what became of its requests: those of a
// group that is shared fail each by itself.
func (c *cohort) outcome() string {
	if c.shares() {
		return Outcome(c.group, c.nodes[0])
	}
	return c.group
}

// Outcome is the key in Snapshot.Refused of a request for a node in a shared group.
func Outcome(group, node string) string { return group + "/" + node }

// requestsOf are the requests of a group that were made for the cohort, the oldest
// first: in one that is shared, those that name its node.
func (c *cohort) requestsOf(g *mig.Group) (made []mig.Request) {
	switch {
	case g == nil:
		return nil
	case g.Stamp.Array == 0:
		return g.Requests
	}
	for i := range g.Requests {
		if slices.ContainsFunc(c.nodes, g.Requests[i].Names) {
			made = append(made, g.Requests[i])
		}
	}
	return made
}

// isQueuedFor reports whether a job that the group was made for is in the queue, or
// may be.
func isQueuedFor(s *scene.Scene, stamp mig.Stamp) bool {
	return s.IsQueued(stamp.Job) || stamp.Array != 0 && s.HasArray(stamp.Array)
}
