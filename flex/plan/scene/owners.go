package scene

import (
	"cmp"
	"slices"
	"time"

	"slurmflex/config"
	"slurmflex/flex/plan/memo"
	"slurmflex/slurm"
)

// Grace is how long the owner of a job that Slurm would not requeue has been
// told before anything is taken from it.
const Grace = time.Minute

// WarnedAt is when the owner of a job was told that it would be lost. It reports false
// if that has not happened. A program of the site may have copied a user's text into
// the AdminComment, so a warning there may make nobody worse off, and nobody immune: it
// counts only for a job that Slurm would not requeue, which gets one anyway, and not
// from the future.
func (s *Scene) WarnedAt(job uint32) (time.Time, bool) {
	at, warned := memo.WarnedAt(s.Seen.Told[job])
	return at, warned && !s.Seen.Requeues[job] && !at.After(s.Seen.Now)
}

// Warned is when the last of the jobs' owners was told that the job would be
// lost. It reports false if none was.
func (s *Scene) Warned(jobs []*slurm.Job) (last time.Time, any bool) {
	for _, j := range jobs {
		if at, warned := s.WarnedAt(j.ID); warned {
			last, any = Later(last, at), true
		}
	}
	return last, any
}

// Spares reports whether the jobs keep their nodes for now: one would be lost, and
// there is hope, or its owner has only just been told that there is none, which he is
// to have time to read.
func (s *Scene) Spares(jobs []*slurm.Job, hopeless bool) (spared, reading bool) {
	last, warned := s.Warned(jobs)
	reading = warned && hopeless && !s.IsOld(last, Grace)
	return reading || warned && !hopeless, reading
}

// unbooted returns the job's flex nodes that are rising and have no machine of ours,
// as far as can be seen.
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

// Takeable returns the nodes that can be taken from a job. Those that other jobs
// hold too go only where nothing could help these either, and not while a request for
// them waits; then one job may be left that waits on. Nobody knows what would help one that could not be read. In a region that could not be read a machine may be there.
func (s *Scene) Takeable(job *slurm.Job, forAll bool) []string {
	return slices.DeleteFunc(s.unbooted(job), func(name string) bool {
		m := s.Node(name)
		return s.IsUnread(m) || m.Doubted || len(m.Holders) > 1 && (!forAll || len(m.requests) > 0)
	})
}

// Came counts how many of a job's nodes have a machine that came for this job, or was
// kept, and since when the first has been there for it: one from before the job was given
// its nodes, since then.
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

// MachineType is the nodeset's, from its template, or else the nodeset's name.
func (s *Scene) MachineType(set *config.NodeSet) string {
	return cmp.Or(s.Seen.Templates[set.Template].Template.MachineType, set.Name)
}
