package plan

import (
	"cmp"
	"slices"

	"slurmflex/slurm"
)

func (s *scene) addJob(j *slurm.Job) {
	s.jobs[j.ID] = true
	if array := j.Array(); array != 0 {
		s.arrays[array] = true
	}
	if !j.State.HoldsNodes() {
		return
	}
	for _, name := range j.Nodes {
		m := s.nodes[name]
		if m == nil {
			s.held[name] = true
			s.others[name] = append(s.others[name], j)
			continue
		}
		m.jobs = append(m.jobs, j)
	}
}

// hasComeUp reports whether the node has come up since the nodes were read: a job is at
// work on it. One that completes shows all nodes that it had, also those that another
// waits for by now.
func (m *member) hasComeUp() bool {
	owned := m.owner() != nil
	return m.power == rising && slices.ContainsFunc(m.jobs, func(j *slurm.Job) bool {
		return j.State.AtWork() && (j.State != slurm.JobCompleting || !owned)
	})
}

// isQueued reports whether the job is in the queue, or may be.
func (s *scene) isQueued(job uint32) bool { return s.anyJob || s.jobs[job] }

// byImportance are all jobs of the queue, the most important first.
func (s *scene) byImportance() []*slurm.Job {
	jobs := make([]*slurm.Job, len(s.snap.Jobs))
	for i := range jobs {
		jobs[i] = &s.snap.Jobs[i]
	}
	slices.SortFunc(jobs, ByImportance)
	return jobs
}

// byClaim orders the jobs that hold a node: first one for which a live request
// asks for it already, so that no job which comes later tears that apart, then
// by importance.
func (s *scene) byClaim(m *member) func(a, b *slurm.Job) int {
	asks := func(j *slurm.Job) int {
		if slices.ContainsFunc(s.requests[m.Name], func(r ref) bool { return isFor(r.group.Stamp, j) }) {
			return 1
		}
		return 0
	}
	return func(a, b *slurm.Job) int { return cmp.Or(asks(b)-asks(a), ByImportance(a, b)) }
}

// ByImportance orders jobs by Slurm's priority, then by age.
func ByImportance(a, b *slurm.Job) int {
	return cmp.Or(cmp.Compare(b.Priority, a.Priority), cmp.Compare(a.ID, b.ID))
}
