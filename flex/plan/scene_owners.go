package plan

import (
	"cmp"
	"slices"
	"time"

	"slurmflex/config"
	"slurmflex/flex/plan/memo"
	"slurmflex/slurm"
)

// grace is how long the owner of a job that Slurm would not requeue has been
// told before anything is taken from it.
const grace = time.Minute

// warnedAt is when the owner of a job was told that it would be lost. It reports false
// if that has not happened. A program of the site may have copied a user's text into
// the AdminComment, so a warning there may make nobody worse off, and nobody immune: it
// counts only for a job that Slurm would not requeue, which gets one anyway, and not
// from the future.
func (s *scene) warnedAt(job uint32) (time.Time, bool) {
	at, warned := memo.WarnedAt(s.snap.Told[job])
	return at, warned && !s.snap.Requeues[job] && !at.After(s.snap.Now)
}

// warned is when the last of the jobs' owners was told that the job would be
// lost. It reports false if none was.
func (s *scene) warned(jobs []*slurm.Job) (last time.Time, any bool) {
	for _, j := range jobs {
		if at, warned := s.warnedAt(j.ID); warned {
			last, any = later(last, at), true
		}
	}
	return last, any
}

// spares reports whether the jobs keep their nodes for now: one would be lost, and
// there is hope, or its owner has only just been told that there is none, which he is
// to have time to read.
func (s *scene) spares(jobs []*slurm.Job, hopeless bool) (spared, reading bool) {
	last, warned := s.warned(jobs)
	reading = warned && hopeless && !s.isOld(last, grace)
	return reading || warned && !hopeless, reading
}

// keeps reports whether the cohort goes on waiting where another would not: a
// job would be lost otherwise, and its owner has been told.
func (s *scene) keeps(c *cohort) bool {
	_, warned := s.warned(c.holders)
	return warned
}

// stays reports whether a cohort would keep its nodes if it were given up though
// there is hope.
func (s *scene) stays(c *cohort) bool {
	if c.job == nil {
		return c.static
	}
	return s.keeps(c) || len(s.takeable(c.job, false)) == 0
}

// unbooted returns the job's flex nodes that are rising and have no machine of ours,
// as far as can be seen.
func (s *scene) unbooted(job *slurm.Job) []string {
	var names []string
	for _, name := range job.Nodes {
		if m := s.nodes[name]; m != nil && m.power == rising && !s.hasMachine(name) && !s.mayShow[name] {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// takeable returns the nodes that can be taken from a job. Those that other jobs
// hold too go only where nothing could help these either, and not while a request for
// them waits; then one job may be left that waits on. Nobody knows what would help one that could not be read. In a region that could not be read a machine may be there.
func (s *scene) takeable(job *slurm.Job, forAll bool) []string {
	return slices.DeleteFunc(s.unbooted(job), func(name string) bool {
		m := s.nodes[name]
		return s.isUnread(m) || m.doubted || len(m.jobs) > 1 && (!forAll || len(s.requests[name]) > 0)
	})
}

// came counts how many of a job's nodes have a machine that came for this job, or was
// kept, and since when the first has been there for it: one from before the job was given
// its nodes, since then.
func (s *scene) came(job *slurm.Job) (n int, since time.Time) {
	for _, name := range job.Nodes {
		for _, in := range s.instances[name] {
			kept := in.member != nil && in.member.set.Flex.KeepIdle > 0 && in.member.power == up && !job.Start.IsZero()
			if in.group == nil || !isFor(in.group.Stamp, job) && !kept || in.Leaving() {
				continue
			}
			n++
			if at := later(in.Created, job.Start); since.IsZero() || at.Before(since) {
				since = at
			}
		}
	}
	return n, since
}

// machineType is the nodeset's, from its template, or else the nodeset's name.
func (s *scene) machineType(set *config.NodeSet) string {
	return cmp.Or(s.snap.Templates[set.Template].Template.MachineType, set.Name)
}
