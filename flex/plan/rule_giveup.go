package plan

import (
	"fmt"
	"slices"

	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
)

// giveUp ends a cohort's wait. All nodes of its job that have no machine yet go
// at once: had one been left out, another job could be placed on it without a
// call. A static node keeps waiting, because nobody would request it again. It is only
// noted if the job, or another one that holds the nodes, keeps them because Slurm would end it.
func (w *wanted) giveUp(c *cohort, then Then, hopeless bool, key, reason string) verdict {
	v := verdict{why: reason, problems: []scene.Problem{scene.NewProblem(key, c.group, "%s: %s", c.group, reason)}}
	switch {
	case c.job == nil && c.static:
		v.do = waits
	case c.job == nil:
		v.do = powersDown
	default:
		nodes := takeable(w.scene, c.job, hopeless && then != Cancel)
		v.do, v.quiet = noted, true
		if len(nodes) > 0 || then == Cancel {
			v.takeBack(w, c, hopeless, ReturnNodes{Nodes: nodes, Reason: reason, Then: then})
		}
	}
	return v
}

// takeBack returns nodes of the cohort's job to Slurm, unless Slurm would end a job by that: such a job
// is only cancelled. If nothing helps the job, its owner is told why it waits.
func (v *verdict) takeBack(w *wanted, c *cohort, hopeless bool, a ReturnNodes) {
	job := c.job
	holders := holdersOf(w.scene, a.Nodes)
	if !slices.Contains(holders, job) {
		holders = append(holders, job)
	}
	if a.Then != Cancel && wouldEnd(w.scene, holders) {
		v.quiet = !hopeless
		return
	}
	a.OfJob, a.Name = OfJob{job.ID}, job.Name()
	if c.door != nil {
		a.Door, a.Unused = c.door.Name, !c.door.Named()
	}
	for _, j := range holders {
		if j != job {
			a.Others = append(a.Others, j.ID)
		}
	}
	slices.Sort(a.Others)
	v.do, v.quiet, v.back = goesBack, false, &a
}

// needRecords leaves a job its nodes while it is unknown whether Slurm would requeue a job that loses
// nodes.
func (v *verdict) needRecords(w *wanted) {
	for _, id := range append([]uint32{v.back.Job}, v.back.Others...) {
		if _, read := w.scene.Seen.Requeues[id]; read {
			continue
		}
		v.do, v.quiet = waits, true
		v.expect = append(v.expect, fmt.Sprintf("the record of job %d to be read", id))
		v.problems = append(v.problems, scene.NewProblem("unread-record", v.back.Name, "job %s keeps its nodes for now, because the record of job %d could not be read: %s",
			v.back.Name, id, v.back.Reason))
	}
}

// decided is a verdict after which nothing is requested, even if the job is spared.
func (v verdict) decided() verdict {
	v.do = max(v.do, waits)
	return v
}

// keeps reports whether the cohort waits on where another would not: Slurm would end one of its jobs
// rather than requeue it.
func keeps(s *scene.Scene, c *cohort) bool { return wouldEnd(s, c.holders) }

// stays reports whether a cohort would keep its nodes if it were given up though
// there is hope.
func stays(s *scene.Scene, c *cohort) bool {
	if c.job == nil {
		return c.static
	}
	return keeps(s, c) || len(takeable(s, c.job, false)) == 0
}

// wouldEnd reports whether Slurm would end one of the jobs, rather than requeue it, if the job lost its
// nodes: a job of salloc or srun, or one with --no-requeue. A job that waits PENDING has no nodes to
// lose.
func wouldEnd(s *scene.Scene, jobs []*slurm.Job) bool {
	return slices.ContainsFunc(jobs, func(j *slurm.Job) bool {
		requeues, read := s.Seen.Requeues[j.ID]
		return read && !requeues && len(s.DoorsOf(j.ID)) == 0
	})
}

// takeable returns the nodes that can be taken from a job. Nodes that other jobs hold too are
// included only with forAll, when nothing could help those jobs either, and only if no live request
// names the node. Then one job may be left that keeps waiting. Nodes that an unreadable job may
// hold are left out, because its needs are unknown, and so are nodes in an unread region, because a
// machine may exist there.
func takeable(s *scene.Scene, job *slurm.Job, forAll bool) []string {
	return slices.DeleteFunc(unbooted(s, job), func(name string) bool {
		m := s.Node(name)
		return s.IsUnread(m) || m.Doubted || len(m.Holders) > 1 && (!forAll || len(s.RequestsOf(name)) > 0)
	})
}

// unbooted returns the job's flex nodes that are rising and have no machine of ours, as far as the
// lists show.
func unbooted(s *scene.Scene, job *slurm.Job) []string {
	var names []string
	for _, name := range job.Nodes {
		if m := s.Node(name); m != nil && m.Power == scene.Rising && !s.HasMachine(name) && !s.MayShow(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// holdersOf returns the jobs that hold any of the nodes, each once.
func holdersOf(s *scene.Scene, nodes []string) []*slurm.Job {
	var jobs []*slurm.Job
	for _, name := range nodes {
		jobs = s.Node(name).AddJobs(jobs)
	}
	return jobs
}
