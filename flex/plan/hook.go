package plan

import (
	"slices"

	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
)

// PoweringUpForNothing are those of the nodes that a hook was called for whose
// machines nobody is going to request if the call is lost: Slurm powers them up,
// and no job is at work on them. A node that was not read, or whose state or
// jobs are not understood, is not among them.
func PoweringUpForNothing(called []string, nodes []slurm.Node, jobs []slurm.Job) []string {
	var free []string
	for _, n := range nodes {
		if slices.Contains(called, n.Name) && n.State.Has(slurm.PoweringUp) && n.State.Power() == scene.Rising &&
			!slices.ContainsFunc(jobs, func(j slurm.Job) bool { return isAtWork(j) && slices.Contains(j.Nodes, n.Name) }) {
			free = append(free, n.Name)
		}
	}
	return free
}

// isAtWork reports whether a job may have begun on its nodes.
func isAtWork(j slurm.Job) bool {
	return j.State != slurm.JobConfiguring && j.State != slurm.JobPending
}
