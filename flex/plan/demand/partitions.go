package demand

import (
	"slices"
	"strings"

	"slurmflex/config"
	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
)

// partitionsOf returns a pending job's partition list.
func partitionsOf(j *slurm.Job) []string { return strings.Split(j.Partition, ",") }

// openTo returns the partitions of a pending job's list that would start the job, as far as
// slurmflex knows. Partitions that are restricted to some users are left out, unless the list has
// no others. A job with one partition keeps it: Slurm shows why the job cannot start there.
func openTo(s *scene.Scene, j *slurm.Job) []string {
	list := partitionsOf(j)
	if len(list) == 1 {
		return list
	}
	var open, restricted []string
	for _, name := range list {
		i := slices.IndexFunc(s.Seen.Partitions, func(p slurm.Partition) bool { return p.Name == name })
		switch {
		case i < 0 || !takes(s.Seen.Partitions[i], j):
		case s.Seen.Partitions[i].Restricts != "":
			restricted = append(restricted, name)
		default:
			open = append(open, name)
		}
	}
	if len(open) == 0 {
		return restricted
	}
	return open
}

// takes reports whether the partition starts jobs, and accepts the job's time limit and size.
func takes(p slurm.Partition, j *slurm.Job) bool {
	long := p.MaxTime.Kind == slurm.LimitSet && (j.Limit.Kind != slurm.LimitSet || j.Limit.Duration > p.MaxTime.Duration)
	return p.Begins && p.MaxTime.Kind != slurm.LimitUnknown && !long &&
		(p.MaxNodes == 0 || j.NodeCount <= p.MaxNodes) && j.NodeCount >= p.MinNodes && j.NodeCount <= len(p.Nodes)
}

// isClosed reports whether none of the job's partitions with nodes of the nodeset starts jobs now
// (DOWN or INACTIVE). A partition that could not be read may start jobs.
func isClosed(s *scene.Scene, j *slurm.Job, set *config.NodeSet) bool {
	closed := false
	for _, name := range partitionsOf(j) {
		p, known := s.Config.Partition(name)
		if !known || !slices.Contains(p.NodeSets, set.Name) {
			continue
		}
		i := slices.IndexFunc(s.Seen.Partitions, func(p slurm.Partition) bool { return p.Name == name })
		if i < 0 || s.Seen.Partitions[i].Begins {
			return false
		}
		closed = true
	}
	return closed
}

// SameSet reports whether both have the same names: Slurm may reorder a job's list.
func SameSet(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}
