package plan

import (
	"slices"

	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
)

// PoweringUpForNothing returns those of the called nodes that would power up for nothing if the
// hook call were lost: Slurm is powering them up, no job is running on them, and slurmflex would
// never request their machines. It leaves out nodes that were not read, or that have an unknown
// state or unknown jobs.
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

// isAtWork reports whether a job may have started on its nodes.
func isAtWork(j slurm.Job) bool {
	return j.State != slurm.JobConfiguring && j.State != slurm.JobPending
}
