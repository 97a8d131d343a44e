package scene

import (
	"slices"
	"time"

	"slurmflex/mig"
	"slurmflex/slurm"
)

// Queue returns all jobs in the queue, most important first.
func (s *Scene) Queue() []*slurm.Job {
	jobs := make([]*slurm.Job, len(s.Seen.Jobs))
	for i := range jobs {
		jobs[i] = &s.Seen.Jobs[i]
	}
	slices.SortFunc(jobs, ByImportance)
	return jobs
}

// StartsLater reports whether the job must not start within that time, because Slurm has requeued
// it or its owner set a later start.
func (s *Scene) StartsLater(j *slurm.Job, ahead time.Duration) bool {
	return j.Reason == slurm.BeginTime && j.Start.After(s.Seen.Now.Add(ahead))
}

// OnlyWaits reports whether a live request waits for capacity and is not creating a machine.
func (s *Scene) OnlyWaits(r *Live) bool {
	return r.Request.State == mig.Accepted && !s.AnyPresent(r.Request.Instances)
}

// AnyPresent reports whether any of the nodes has an instance, in any state.
func (s *Scene) AnyPresent(nodes []string) bool {
	for _, n := range nodes {
		if len(s.Named(n).Machines) > 0 {
			return true
		}
	}
	return false
}

// AnyDoubted reports whether an unreadable job may hold one of the nodes.
func (s *Scene) AnyDoubted(nodes []string) bool {
	return slices.ContainsFunc(s.NodesNamed(nodes), func(m *Node) bool { return m.Doubted })
}
