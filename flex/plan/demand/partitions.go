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

// partitionsWith returns those of a job's partitions that have nodes of the nodeset. known is false
// if one of them could not be read.
func partitionsWith(s *scene.Scene, j *slurm.Job, set *config.NodeSet) (all []slurm.Partition, known bool) {
	known = true
	for _, name := range partitionsOf(j) {
		p, ours := s.Config.Partition(name)
		if !ours || set == nil || !slices.Contains(p.NodeSets, set.Name) {
			continue
		}
		i := slices.IndexFunc(s.Seen.Partitions, func(p slurm.Partition) bool { return p.Name == name })
		if i < 0 {
			known = false
			continue
		}
		all = append(all, s.Seen.Partitions[i])
	}
	return all, known
}

// isClosed reports whether none of the job's partitions with nodes of the nodeset starts jobs now
// (DOWN or INACTIVE). A partition that could not be read may start jobs.
func isClosed(s *scene.Scene, j *slurm.Job, set *config.NodeSet) bool {
	all, known := partitionsWith(s, j, set)
	return known && len(all) > 0 && !slices.ContainsFunc(all, func(p slurm.Partition) bool { return p.Begins })
}

// surelyTakes reports whether one of the job's partitions with nodes of the nodeset is certain to
// start the job: it is open to everybody, and accepts the job's time limit and size. If the job has
// several nodesets, Slurm alone knows in which of them it finds hardware that it requests otherwise than
// per node.
func (h *handout) surelyTakes(j *slurm.Job, set *config.NodeSet) bool {
	if by := h.chargeOf(j); by.ByPosition || by.ByHardware && len(h.places(j)) > 1 {
		return false
	}
	all, _ := partitionsWith(h.Scene, j, set)
	return slices.ContainsFunc(all, func(p slurm.Partition) bool {
		long := p.MaxTime.Kind == slurm.LimitSet && (j.Limit.Kind != slurm.LimitSet || j.Limit.Duration > p.MaxTime.Duration)
		return p.Begins && p.Restricts == "" && p.MaxTime.Kind != slurm.LimitUnknown && !long &&
			(p.MaxNodes == 0 || j.NodeCount <= p.MaxNodes) && j.NodeCount >= p.MinNodes
	})
}
