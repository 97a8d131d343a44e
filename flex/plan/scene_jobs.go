package plan

import (
	"cmp"
	"slices"

	"slurmflex/slurm"
)

func (s *scene) addJob(j *slurm.Job) {
	s.jobs[j.ID] = true
	if !holdsNodes(j.State) {
		return
	}
	for _, name := range j.Nodes {
		m := s.nodes[name]
		if m == nil {
			s.held[name] = true
			continue
		}
		m.jobs = append(m.jobs, j)
		if m.power == rising && atWork(j.State) {
			m.power = up // it has come up since the nodes were read
		}
	}
}

// atWork reports whether a job in that state has had all its nodes come up.
func atWork(s slurm.JobState) bool {
	return holdsNodes(s) && s != slurm.JobConfiguring && s != slurm.JobPowerUpNode
}

// holdsNodes reports whether a job in that state has its nodes still: any state
// but those in which Slurm has taken them back, so that a state that we do not
// know does.
func holdsNodes(s slurm.JobState) bool {
	switch s {
	case slurm.JobPending, slurm.JobExpediting, slurm.JobCompleted, slurm.JobCancelled, slurm.JobFailed, slurm.JobTimeout,
		slurm.JobNodeFail, slurm.JobPreempted, slurm.JobBootFail, slurm.JobDeadline, slurm.JobOutOfMemory,
		slurm.JobRequeued, slurm.JobRequeueHold, slurm.JobSpecialExit, slurm.JobRevoked:
		return false
	}
	return true
}

// isQueued reports whether the job is in the queue, or may be.
func (s *scene) isQueued(job uint32) bool { return s.anyJob || s.jobs[job] }

// byClaim orders the jobs that hold a node: first one for which a live request
// asks for it already, so that no job which comes later tears that apart, then
// by importance.
func (s *scene) byClaim(m *member) func(a, b *slurm.Job) int {
	asks := func(j *slurm.Job) int {
		if slices.ContainsFunc(s.requests[m.Name], func(r ref) bool { return r.group.Stamp.Job == j.ID }) {
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
