package plan

import (
	"time"

	"slurmflex/flex/plan/memo"
)

// noteComponents notes the heterogeneous jobs of which a component other than the
// first has nodes without a machine, and when those that have machines got them.
func (w *wanted) noteComponents() {
	for _, c := range w.cohorts {
		if c.job != nil && c.job.HetID != 0 && !c.isFirst() && len(w.withoutMachine(c.nodes)) > 0 {
			w.incomplete[c.job.HetID] = true
		}
	}
	for _, m := range w.members {
		for _, j := range m.jobs {
			if j.HetID == 0 || j.HetID == j.ID {
				continue
			}
			for _, in := range m.machines {
				w.turns[j.HetID] = later(w.turns[j.HetID], in.Created)
			}
		}
	}
}

// isFirst reports whether the cohort is of a heterogeneous job's first component.
func (c *cohort) isFirst() bool { return c.job != nil && c.job.HetID == c.job.ID }

// lacksSince is when the cohort's job began to lack capacity for it: when it began
// to wait, but not before it was first asked for, and for a first component not before
// its turn came. It is zero if that is not known, or the turn has not come.
func (w *wanted) lacksSince(c *cohort) time.Time {
	since := waitsSince(c)
	if !since.IsZero() {
		since = later(since, w.firstAsked(c))
	}
	switch {
	case !c.isFirst():
		return since
	case w.incomplete[c.job.HetID]:
		return time.Time{}
	}
	return later(since, w.turns[c.job.HetID])
}

// firstAsked is when the cohort was first asked for, as far as requests or its nodes'
// Comment say, but no later than when this process began: it would have asked.
func (s *scene) firstAsked(c *cohort) time.Time {
	g := s.groups[c.id()]
	if c.live != nil {
		g = c.live.group
	}
	if made := c.requestsOf(g); len(made) > 0 && made[0].Created.Before(s.snap.Started) {
		return made[0].Created
	}
	if waits, ok := memo.ParseWait(s.nodes[c.nodes[0]].Comment); ok && waits.Place == c.group && waits.Since.Before(s.snap.Started) {
		return waits.Since
	}
	return s.snap.Started
}
