package plan

import (
	"fmt"
	"slices"

	"slurmflex/flex/plan/scene"
)

// giveUp ends a cohort's wait. All nodes of its job that have no machine yet go
// at once: had one been left out, another job could be placed on it without a
// call. A static node keeps waiting, because nobody would request it again. It is only
// noted where the job, or another one that holds the nodes, is spared for now.
func (w *wanted) giveUp(c *cohort, then Then, hopeless bool, key, reason string) verdict {
	v := verdict{why: reason, problems: []scene.Problem{scene.NewProblem(key, c.group, "%s: %s", c.group, reason)}}
	switch {
	case c.job == nil && c.static:
		v.do = waits
	case c.job == nil:
		v.do = powersDown
	default:
		nodes := w.scene.Takeable(c.job, hopeless && then != Cancel)
		v.do, v.quiet = noted, true
		if told, warned := w.scene.Warned(w.scene.Holders(nodes)); warned && hopeless && then != Cancel {
			v.lost = told.Add(scene.Grace)
		}
		if len(nodes) > 0 || then == Cancel {
			v.takeBack(w, c, hopeless, ReturnNodes{Nodes: nodes, Reason: reason, Then: then})
		}
	}
	return v
}

// takeBack gives nodes of the job back, unless somebody would be lost by it who is to
// be spared for now.
func (v *verdict) takeBack(w *wanted, c *cohort, hopeless bool, a ReturnNodes) {
	job := c.job
	holders := w.scene.Holders(a.Nodes)
	if !slices.Contains(holders, job) {
		holders = append(holders, job)
	}
	spared, reading := w.scene.Spares(holders, hopeless)
	if reading {
		v.expect = append(v.expect, "the owner of a job that is lost to have had time to read so")
	}
	if spared {
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

// warnFirst lets jobs that Slurm would not requeue be lost only when their owners have
// been warned, and none of which that is not known.
func (v *verdict) warnFirst(w *wanted) {
	for _, id := range append([]uint32{v.back.Job}, v.back.Others...) {
		requeues, read := w.scene.Seen.Requeues[id]
		if v.back.Door != "" { // it waits pending, and loses nothing
			requeues = read
		}
		_, warned := w.scene.WarnedAt(id)
		switch {
		case !read:
			v.do, v.quiet = waits, true
			v.expect = append(v.expect, fmt.Sprintf("the record of job %d to be read", id))
			v.problems = append(v.problems, scene.NewProblem("unread-record", v.back.Name, "job %s keeps its nodes for now, because the record of job %d could not be read: %s",
				v.back.Name, id, v.back.Reason))
		case requeues:
		case warned:
			v.back.Lost = append(v.back.Lost, id)
		default:
			v.do, v.quiet, v.warns = waits, true, append(v.warns, id)
			v.expect = append(v.expect, fmt.Sprintf("the owner of job %d to be warned", id))
		}
	}
}

// decided is a verdict after which nothing is requested, even if the job is spared.
func (v verdict) decided() verdict {
	v.do = max(v.do, waits)
	return v
}

// keeps reports whether the cohort goes on waiting where another would not: a
// job would be lost otherwise, and its owner has been told.
func keeps(s *scene.Scene, c *cohort) bool {
	_, warned := s.Warned(c.holders)
	return warned
}

// stays reports whether a cohort would keep its nodes if it were given up though
// there is hope.
func stays(s *scene.Scene, c *cohort) bool {
	if c.job == nil {
		return c.static
	}
	return keeps(s, c) || len(s.Takeable(c.job, false)) == 0
}
