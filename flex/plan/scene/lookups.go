package scene

import (
	"slices"
	"time"

	"slurmflex/config"
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

// AnyNode reports whether isSo holds for any of the nodes.
func (s *Scene) AnyNode(names []string, isSo func(*Node) bool) bool {
	return slices.ContainsFunc(s.NodesNamed(names), isSo)
}

// AnyDoubted reports whether an unreadable job may hold one of the nodes.
func (s *Scene) AnyDoubted(nodes []string) bool {
	return s.AnyNode(nodes, func(m *Node) bool { return m.Doubted })
}

// Together returns the doors of all components of the door's heterogeneous job, which Slurm starts
// together; of another job, the door alone.
func (s *Scene) Together(d *Door) []*Door {
	if d.Job == nil || d.Job.HetID == 0 {
		return []*Door{d}
	}
	var all []*Door
	for _, other := range s.Doors {
		if other.Job != nil && other.Job.HetID == d.Job.HetID {
			all = append(all, other)
		}
	}
	return all
}

// Outlives reports whether the job may run longer than its nodes, by more than config.CloseEnough.
// The start of a job is unknown until it runs. Until then, only a time limit longer than the longest
// lease counts.
func (s *Scene) Outlives(j *slurm.Job, end time.Time) bool {
	switch {
	case j.Limit.Kind == slurm.LimitUnknown:
		return false
	case j.Limit.Kind != slurm.LimitSet:
		return true
	case j.State == slurm.JobRunning && !j.Start.IsZero():
		return j.Start.Add(j.Limit.Duration - config.CloseEnough).After(end)
	}
	return s.AnyNode(j.Nodes, func(m *Node) bool {
		return m.Set.Flex.MaxRunDuration > 0 && j.Limit.Duration > min(m.Set.Flex.MaxRunDuration, mig.MaxDuration)
	})
}

// IsSkipped reports whether a row of that kind and name could not be read.
func (s *Scene) IsSkipped(kind, name string) bool {
	return slices.ContainsFunc(s.Seen.Unread, func(r slurm.UnreadRow) bool { return r.Kind == kind && r.Name == name })
}

// Survivors returns those nodes of the door that have machines from before the job lost others. It
// returns none unless the nodeset has salvage.
func (s *Scene) Survivors(d *Door) (names []string) {
	for _, m := range s.NodesNamed(d.Nodes) {
		if d.Taker != nil && m.Set.Flex.Salvage && m.Power == On && m.HasMachine() && len(m.Machines) == 1 && m.Machines[0].Created.Before(d.At) {
			names = append(names, m.Name)
		}
	}
	return names
}
