package scene

import (
	"cmp"
	"slices"

	"slurmflex/slurm"
)

func (s *Scene) addJob(j *slurm.Job) {
	s.jobs[j.ID] = j
	if array := j.Array(); array != 0 {
		s.arrays[array] = true
	}
	if !j.State.HoldsNodes() {
		return
	}
	for _, name := range j.Nodes {
		m := s.Node(name)
		if m == nil {
			of := s.note(name)
			of.held, of.holders = true, append(of.holders, j)
			continue
		}
		m.Holders = append(m.Holders, j)
	}
}

// hasComeUp reports whether the node has come up since the nodes were read: a job is at
// work on it. One that completes shows all nodes that it had, also those that another
// waits for by now.
func (m *Node) hasComeUp() bool {
	owned := m.Owner() != nil
	return m.Power == Rising && slices.ContainsFunc(m.Holders, func(j *slurm.Job) bool {
		return j.State.AtWork() && (j.State != slurm.JobCompleting || !owned)
	})
}

// UnshownNodes returns the sorted names of nodes that jobs hold and that are not among the nodes read
// from Slurm.
func (s *Scene) UnshownNodes() (names []string) {
	for name, r := range s.strays {
		if len(r.holders) > 0 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// IsQueued reports whether the job is in the queue, or may be.
func (s *Scene) IsQueued(job uint32) bool {
	_, queued := s.jobs[job]
	return s.anyJob || queued
}

// Job returns a job of the queue; nil if there is none with that ID, or its row could not be read.
func (s *Scene) Job(id uint32) *slurm.Job { return s.jobs[id] }

// ByImportance are all jobs of the queue, the most important first.
func (s *Scene) ByImportance() []*slurm.Job {
	jobs := make([]*slurm.Job, len(s.Seen.Jobs))
	for i := range jobs {
		jobs[i] = &s.Seen.Jobs[i]
	}
	slices.SortFunc(jobs, ByImportance)
	return jobs
}

// byClaim orders the jobs that hold a node: first one for which a live request
// asks for it already, so that no job which comes later tears that apart, then
// by importance.
func (s *Scene) byClaim(m *Node) func(a, b *slurm.Job) int {
	asks := func(j *slurm.Job) int {
		if slices.ContainsFunc(m.requests, func(r Live) bool { return IsFor(r.Group.Stamp, j) }) {
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

// HoldersOf returns the jobs that hold a node: of a flex node in the order of their claims, of others in
// the order of the queue.
func (s *Scene) HoldersOf(node string) []*slurm.Job {
	if n := s.Node(node); n != nil {
		return n.Holders
	}
	return s.named(node).holders
}

// HasArray reports whether the queue has tasks of an array job.
func (s *Scene) HasArray(array uint32) bool { return s.arrays[array] }
