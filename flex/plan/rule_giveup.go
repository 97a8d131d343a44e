package plan

import (
	"slices"

	"slurmflex/slurm"
)

// giveUp ends a cohort's wait. All nodes of its job that have no machine yet go
// at once: had one been left out, another job could be placed on it without a
// call. A static node keeps waiting, for nobody would request it again. It is only
// noted where the job, or another one that holds the nodes, is spared for now.
func (w *wanted) giveUp(c *cohort, then Then, hopeless bool, key, reason string) verdict {
	v := verdict{why: reason, problems: []Problem{problem(key, c.group, "%s: %s", c.group, reason)}}
	switch {
	case c.job == nil && c.static:
		v.do = waits
	case c.job == nil:
		v.do = powersDown
	default:
		nodes := w.takeable(c.job, hopeless && then != Cancel)
		v.do, v.quiet = noted, true
		if told, warned := w.warned(w.holders(nodes)); warned && hopeless && then != Cancel {
			v.lost = told.Add(grace)
		}
		if len(nodes) > 0 || then == Cancel {
			v.takeBack(w, c.job, GiveBack{Nodes: nodes, Reason: reason, Then: then, Hopeless: hopeless})
		}
	}
	return v
}

// takeBack gives nodes of the job back, unless somebody would be lost by it who is to
// be spared for now.
func (v *verdict) takeBack(w *wanted, job *slurm.Job, a GiveBack) {
	holders := w.holders(a.Nodes)
	if !slices.Contains(holders, job) {
		holders = append(holders, job)
	}
	spared, reading := w.spares(holders, a.Hopeless)
	if reading {
		v.expect = append(v.expect, "the owner of a job that is lost to have had time to read so")
	}
	if spared {
		return
	}
	a.OfJob, a.Name = OfJob{job.ID}, job.Name()
	for _, j := range holders {
		if j != job {
			a.Others = append(a.Others, j.ID)
		}
	}
	slices.Sort(a.Others)
	v.do, v.quiet, v.back = goesBack, false, &a
}

// decided is a verdict after which nothing is requested, even if the job is spared.
func (v verdict) decided() verdict {
	v.do = max(v.do, waits)
	return v
}
