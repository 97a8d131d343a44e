package scene

import (
	"cmp"
	"slices"
	"time"

	"slurmflex/config"
	"slurmflex/slurm"
)

// WouldEnd reports whether Slurm would end one of the jobs, rather than requeue it, if the job lost its nodes: a job of
// salloc or srun, or one with --no-requeue. A job that waits PENDING has no nodes to lose.
func (s *Scene) WouldEnd(jobs []*slurm.Job) bool {
	return slices.ContainsFunc(jobs, func(j *slurm.Job) bool {
		requeues, read := s.Seen.Requeues[j.ID]
		return read && !requeues && len(s.DoorsOf(j.ID)) == 0
	})
}

// unbooted returns the job's flex nodes that are rising and have no machine of ours, as far as the
// lists show.
func (s *Scene) unbooted(job *slurm.Job) []string {
	var names []string
	for _, name := range job.Nodes {
		if m := s.Node(name); m != nil && m.Power == Rising && !s.HasMachine(name) && !m.mayShow {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Takeable returns the nodes that can be taken from a job. Nodes that other jobs hold too are
// included only with forAll, when nothing could help those jobs either, and only if no live request
// names the node. Then one job may be left that keeps waiting. Nodes that an unreadable job may
// hold are left out, because its needs are unknown, and so are nodes in an unread region, because a
// machine may exist there.
func (s *Scene) Takeable(job *slurm.Job, forAll bool) []string {
	return slices.DeleteFunc(s.unbooted(job), func(name string) bool {
		m := s.Node(name)
		return s.IsUnread(m) || m.Doubted || len(m.Holders) > 1 && (!forAll || len(m.requests) > 0)
	})
}

// Came counts the job's nodes with a machine that was created for this job or was kept, and returns
// when the first became available to the job. A machine from before the allocation became available
// with the allocation.
func (s *Scene) Came(job *slurm.Job) (n int, since time.Time) {
	for _, name := range job.Nodes {
		for _, in := range s.MachinesOf(name) {
			kept := in.Node != nil && in.Node.Set.Flex.KeepIdle > 0 && in.Node.Power == On && !job.Start.IsZero()
			if in.Maker == nil || !IsFor(in.Maker.Stamp, job) && !kept || in.Leaving() {
				continue
			}
			n++
			if at := Later(in.Created, job.Start); since.IsZero() || at.Before(since) {
				since = at
			}
		}
	}
	return n, since
}

// MachineType returns the machine type in the nodeset's template, or the nodeset's name if the
// template is unknown.
func (s *Scene) MachineType(set *config.NodeSet) string {
	return cmp.Or(s.Seen.Templates[set.Template].Template.MachineType, set.Name)
}
