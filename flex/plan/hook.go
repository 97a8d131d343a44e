package plan

import (
	"slices"

	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
)

// PoweringUpForNothing returns those of the called nodes that would power up for nothing if the
// hook call were lost: Slurm is powering them up, no job is running on them, and slurmflex would
// never request their machines. It leaves out nodes that were not read, or that have an unknown
// state or unknown jobs. If Slurm would end a job that lost them, they are kept, not free; requeues
// holds the jobs that Slurm would requeue.
func PoweringUpForNothing(called []string, nodes []slurm.Node, jobs []slurm.Job, requeues map[uint32]bool) (free, kept []string) {
	for _, n := range nodes {
		has := func(matches func(slurm.Job) bool) bool {
			return slices.ContainsFunc(jobs, func(j slurm.Job) bool { return matches(j) && slices.Contains(j.Nodes, n.Name) })
		}
		rises := slices.Contains(called, n.Name) && n.State.Has(slurm.PoweringUp) && n.State.Power() == scene.Rising
		switch {
		case !rises || has(isAtWork):
		case has(func(j slurm.Job) bool { return !requeues[j.ID] }):
			kept = append(kept, n.Name)
		default:
			free = append(free, n.Name)
		}
	}
	return free, kept
}

// isAtWork reports whether a job may have started on its nodes.
func isAtWork(j slurm.Job) bool {
	return j.State != slurm.JobConfiguring && j.State != slurm.JobPending
}
