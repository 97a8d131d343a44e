package scene

import (
	"cmp"
	"slices"

	"slurmflex/mig"
	"slurmflex/slurm"
)

func (s builder) addJob(j *slurm.Job) {
	s.Jobs[j.ID] = j
	s.sharers[mig.Sharers(j.Array(), j.User)] = j.User
	if !j.State.HoldsNodes() {
		return
	}
	for _, name := range j.Nodes {
		of := s.note(name)
		of.Holders = append(of.Holders, j)
	}
}

// hasComeUp reports whether the node has registered since Slurm's nodes were read, because a job is
// running on it. A completing job still shows all the nodes that it had, even if another job waits
// for them, so a completing job does not count on a node with an owner.
func (m *Node) hasComeUp() bool {
	owned := m.owner() != nil
	return m.Power == Rising && slices.ContainsFunc(m.Holders, func(j *slurm.Job) bool {
		return j.State.AtWork() && (j.State != slurm.JobCompleting || !owned)
	})
}

// UnshownNodes returns the sorted names of nodes that jobs hold and that are not among the nodes
// read from Slurm.
func (s *Scene) UnshownNodes() (names []string) {
	for name, r := range s.strays {
		if len(r.Holders) > 0 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// IsQueued reports whether the job is in the queue, or may be because a row was unreadable.
func (s *Scene) IsQueued(job uint32) bool {
	_, queued := s.Jobs[job]
	return s.anyJob || queued
}

// Throttle returns how many tasks of the job's array may run at once; 0 means no limit.
func (s *Scene) Throttle(j *slurm.Job) int {
	return cmp.Or(j.Throttle(), s.Seen.Throttles[j.Array()])
}

// byClaim returns the order of the jobs that hold a node. A job that a live request already serves
// on this node sorts first, so that a later job does not break up that request. The other jobs
// follow by importance.
func (s builder) byClaim(m *Node) func(a, b *slurm.Job) int {
	asks := func(j *slurm.Job) int {
		if slices.ContainsFunc(m.Requests, func(r Live) bool { return IsFor(r.Group.Stamp, j) }) {
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

// HasJobOf reports whether a job that a group with the stamp was created for is, or may be, in the
// queue.
func (s *Scene) HasJobOf(stamp mig.Stamp) bool {
	_, shares := s.sharers[stamp.Sharers()]
	return s.IsQueued(stamp.Job) || shares && stamp.Shared()
}

// UserOf returns the user of a stamp's job or jobs; empty if none of them is in the queue.
func (s *Scene) UserOf(stamp mig.Stamp) string {
	if job := s.Jobs[stamp.Job]; job != nil {
		return job.User
	}
	if !stamp.Shared() {
		return ""
	}
	return s.sharers[stamp.Sharers()]
}

// WouldEnd reports whether Slurm would end one of the jobs, instead of requeueing it, if the job
// lost its nodes: a job of salloc or srun, or one with --no-requeue. A job that waits PENDING has
// no nodes to lose.
func (s *Scene) WouldEnd(jobs []*slurm.Job) bool {
	return slices.ContainsFunc(jobs, func(j *slurm.Job) bool {
		rec, read := s.Seen.Records[j.ID]
		return read && !rec.Requeues() && len(s.DoorsOf(j.ID)) == 0
	})
}
