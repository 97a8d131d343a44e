package scene

import (
	"cmp"
	"slices"
	"time"

	"slurmflex/config"
	"slurmflex/flex/plan/memo"
	"slurmflex/slurm"
)

// Grace is how long the owner of a job that Slurm would not requeue has to read a warning before
// slurmflex takes nodes from the job.
const Grace = time.Minute

// WarnedAt returns when the owner of a job was warned that the job would be lost. It reports false
// without such a warning. A site's own program may have copied a user's text into the AdminComment,
// so a forged warning must neither harm another job nor protect this one: a warning counts only for
// a job that Slurm would not requeue, which gets one anyway, and only if its time is not in the
// future.
func (s *Scene) WarnedAt(job uint32) (time.Time, bool) {
	at, warned := memo.WarnedAt(s.Seen.Told[job])
	return at, warned && !s.Seen.Requeues[job] && !at.After(s.Seen.Now)
}

// Warned returns when the last of the jobs' owners was warned that the job would be lost. It
// reports false if none was warned.
func (s *Scene) Warned(jobs []*slurm.Job) (last time.Time, any bool) {
	for _, j := range jobs {
		if at, warned := s.WarnedAt(j.ID); warned {
			last, any = Later(last, at), true
		}
	}
	return last, any
}

// Spares reports whether the jobs keep their nodes for now: a warned job would be lost and there is
// still hope, or there is no hope and its owner has had less than Grace to read the warning. It
// reports the second case as reading.
func (s *Scene) Spares(jobs []*slurm.Job, hopeless bool) (spared, reading bool) {
	last, warned := s.Warned(jobs)
	reading = warned && hopeless && !s.IsOld(last, Grace)
	return reading || warned && !hopeless, reading
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
