package plan

import (
	"fmt"
	"slices"
	"strings"

	"slurmflex/flex/plan/memo"
	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
)

// closedTo says why a job may not move to a partition; empty if it may. Slurm checks
// nothing when root moves it, so whatever is not known to be open is closed.
func closedTo(s *scene.Scene, j *slurm.Job, partition string) string {
	i := slices.IndexFunc(s.Seen.Partitions, func(p slurm.Partition) bool { return p.Name == partition })
	if i < 0 {
		return fmt.Sprintf("partition %s does not exist or could not be read", partition)
	}
	p, nodes := s.Seen.Partitions[i], max(len(j.Nodes), j.NodeCount)
	switch {
	case !p.Up:
		return fmt.Sprintf("partition %s is not UP", partition)
	case restsAll(s, partition):
		return fmt.Sprintf("partition %s rests, as there was no capacity", partition)
	case p.Restricts != "":
		return fmt.Sprintf("partition %s sets %s, which slurmflex does not check for a job", partition, p.Restricts)
	case j.Limit.Kind != slurm.LimitSet || p.MaxTime.Kind == slurm.LimitUnknown || p.MaxTime.Kind == slurm.LimitSet && j.Limit.Duration > p.MaxTime.Duration:
		return fmt.Sprintf("its time limit is longer than the MaxTime of partition %s", partition)
	case p.MaxNodes > 0 && nodes > p.MaxNodes || nodes < p.MinNodes || nodes > len(p.Nodes):
		return fmt.Sprintf("partition %s takes no job with this number of nodes (%d)", partition, nodes)
	}
	return ""
}

// openTo are those of the partitions that a job may move to, and why not to the others.
func openTo(s *scene.Scene, j *slurm.Job, list []string) (open, closed []string) {
	for _, name := range list {
		if why := closedTo(s, j, name); why != "" {
			closed = append(closed, why)
		} else {
			open = append(open, name)
		}
	}
	return open, closed
}

// after is where a job goes that leaves a partition of its list: to those that follow; to
// those before it that Slurm passed over, as their PriorityTier is lower; and from the last
// to the whole list again. It is empty, with the reasons, if there is no other that it may
// move to.
func after(s *scene.Scene, j *slurm.Job, chain memo.Chain, from string) (to, closed []string) {
	at := slices.Index(chain.List, from)
	if at < 0 {
		return nil, nil
	}
	if to, closed = openTo(s, j, chain.List[at+1:]); len(to) > 0 {
		return to, closed
	}
	passed := slices.DeleteFunc(slices.Clone(chain.List[:at]), func(name string) bool { return !slices.Contains(chain.InSlurm(), name) })
	if to, _ = openTo(s, j, passed); len(to) > 0 {
		return to, closed
	}
	to, closed = openTo(s, j, chain.List)
	if !slices.ContainsFunc(to, func(name string) bool { return name != from }) {
		return nil, closed
	}
	return to, closed
}

// restsAll reports whether each nodeset of the partition rests.
func restsAll(s *scene.Scene, partition string) bool {
	p, known := s.Config.Partition(partition)
	return known && len(p.NodeSets) > 0 && !slices.ContainsFunc(p.NodeSets, func(set string) bool { return s.Rest(set) == nil })
}

// isRestricted reports whether the partition takes some jobs only: one that has left it
// could not be moved back.
func isRestricted(s *scene.Scene, partition string) bool {
	return !slices.ContainsFunc(s.Seen.Partitions, func(p slurm.Partition) bool {
		return p.Name == partition && p.Restricts == ""
	})
}

// partitionsOf are those in which a pending job may start.
func partitionsOf(j *slurm.Job) []string { return strings.Split(j.Partition, ",") }

// sameSet reports whether both have the same names: Slurm may reorder a job's list.
func sameSet(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

// arrived is the chain of a job that has begun to move, as it is when it has moved.
func arrived(c memo.Chain) memo.Chain {
	c.Moved, c.Leaving = c.Leaving, memo.Move{}
	return c
}
