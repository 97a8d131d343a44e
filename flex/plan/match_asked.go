package plan

import (
	"slices"
	"time"

	"slurmflex/flex/plan/memo"
)

// Asked counts how long a request for a cohort was live or refused since Slurm allocated the
// nodes to its job. The clocks of provision_timeout and fallback_after count only this time.
// Compute records neither the end of a request nor a refused bulk insert, so the process
// remembers the time. After a restart the clocks start from the live request, the last refusal,
// or the instance that has a node's name: later than before, never earlier.
type Asked struct {
	For  time.Duration
	At   time.Time // the time of the pass
	Runs bool      // a request was live or refused then
}

// askedKey returns the cohort's key in Snapshot.Asked. The key does not change when another group
// replaces the cohort's own.
func (c *cohort) askedKey() string {
	if c.shares() {
		return Outcome(memo.Replaced(c.group), c.nodes[0])
	}
	return memo.Replaced(c.group)
}

// askedOf collects the counts of all cohorts for the next pass; see Plan.Asked.
func askedOf(w *wanted) map[string]Asked {
	all := map[string]Asked{}
	for _, c := range w.cohorts {
		if c.asked != (Asked{}) {
			all[c.askedKey()] = c.asked
		}
	}
	return all
}

// askedFor adds to the cohort's count the part of the time since the last pass during which a
// request was live or refused. Time before the job's allocation does not count.
func (w *wanted) askedFor(c *cohort) Asked {
	if c.job == nil {
		return Asked{}
	}
	now := w.snap.Now.Round(0) // comparisons must see a clock that was set back
	known := w.snap.Asked[c.askedKey()]
	if known.At.Before(c.job.Start) || known.At.After(now) {
		known = Asked{}
	}
	since, until, counts := w.askedSince(c)
	if !counts || w.snap.Skew > maxSkew {
		if known != (Asked{}) {
			known.At, known.Runs = now, false
		}
		return known
	}
	since = later(since, c.job.Start)
	from := later(since, known.At)
	if known.Runs { // no pass between the two saw an obstacle
		from = known.At
	}
	return Asked{For: max(0, until.Sub(since), known.For+max(0, until.Sub(from))), At: now, Runs: until.Equal(w.snap.Now)}
}

// askedSince returns the latest time span during which a request for the cohort is live, is being
// made, or is refused, as far as Compute and this process know. A refusal lasts until its
// back-off ends. askedSince reports false if it knows no such span, or if another obstacle
// prevents a new request.
func (w *wanted) askedSince(c *cohort) (since, until time.Time, counts bool) {
	now := w.snap.Now
	switch {
	case c.live != nil:
		return c.live.request.Created, now, true
	case w.isBeingAsked(c):
		return now, now, true
	case w.barred(c) == obstructs:
		return time.Time{}, time.Time{}, false
	}
	if in, found := w.firstStranger(c); found {
		return in.Created, now, true
	}
	n, _, _, last := w.failures(c, w.groups[c.id()])
	if r := w.refusal(c); n == 0 && c.set.Flex.Capacity.AtOnce() && r.Failing.Times > 0 {
		n, last = 1, r.Failing.Last // it is repeated at once, until Compute answers
	}
	end := last.Add(retryAfter(n))
	if end.After(now) {
		end = now
	}
	return last, end, n > 0
}

// isBeingAsked reports whether a request for the cohort is being made, or has been made and
// does not show yet.
func (w *wanted) isBeingAsked(c *cohort) bool {
	g := w.groups[c.id()]
	return !w.unseen(c.set.Region) && (g != nil && !c.shares() && w.isAhead(g) ||
		slices.ContainsFunc(c.nodes, func(name string) bool { return w.snap.Asking[name] || w.snap.Inserted[name] }))
}

// lacksSince returns the start of the cohort's wait for capacity without its pauses: now minus
// the count of Asked. It returns zero while the clocks stand still.
func (w *wanted) lacksSince(c *cohort) time.Time {
	if !c.asked.Runs {
		return time.Time{}
	}
	return w.snap.Now.Add(-c.asked.For)
}
