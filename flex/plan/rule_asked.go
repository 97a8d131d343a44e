package plan

import (
	"slices"
	"time"

	"slurmflex/flex/plan/memo"
	"slurmflex/flex/plan/scene"
)

// askedKey returns the cohort's key in Snapshot.Asked. The key does not change when another group
// replaces the cohort's own.
func askedKey(c *cohort) string {
	if c.shares() {
		return Outcome(memo.Replaced(c.group), c.nodes[0])
	}
	return memo.Replaced(c.group)
}

// askedOf collects the counts of all cohorts for the next pass; see Plan.Asked.
func askedOf(w *wanted) map[string]scene.Asked {
	all := map[string]scene.Asked{}
	for _, c := range w.cohorts {
		if c.asked != (scene.Asked{}) {
			all[askedKey(c)] = c.asked
		}
	}
	return all
}

// countAsked adds to the cohort's count the part of the time since the last pass during which a
// request was live or refused. Time before the job's allocation does not count.
func countAsked(w *wanted, c *cohort) scene.Asked {
	if c.job == nil {
		return scene.Asked{}
	}
	now := w.scene.Seen.Now.Round(0) // so that comparisons notice a clock that was set back
	known := w.scene.Seen.Asked[askedKey(c)]
	if known.At.Before(c.job.Start) || known.At.After(now) {
		known = scene.Asked{}
	}
	since, until, counts := askedSince(w, c)
	if !counts || w.scene.Seen.Skew > scene.MaxSkew {
		if known != (scene.Asked{}) {
			known.At, known.Runs = now, false
		}
		return known
	}
	since = scene.Later(since, c.job.Start)
	from := scene.Later(since, known.At)
	if known.Runs { // no pass between the two saw an obstacle
		from = known.At
	}
	return scene.Asked{For: max(0, until.Sub(since), known.For+max(0, until.Sub(from))), At: now, Runs: until.Equal(w.scene.Seen.Now)}
}

// askedSince returns the latest time span during which a request for the cohort is live, is being
// made, or is refused, as far as Compute and this process know. A refusal lasts until its
// back-off ends. askedSince reports false if it knows no such span, or if another obstacle
// prevents a new request.
func askedSince(w *wanted, c *cohort) (since, until time.Time, counts bool) {
	now := w.scene.Seen.Now
	switch {
	case c.live != nil:
		return c.live.Request.Created, now, true
	case isBeingAsked(w, c):
		return now, now, true
	case barred(w, c) == obstructs:
		return time.Time{}, time.Time{}, false
	}
	if in, found := firstStranger(w.scene, c); found {
		return in.Created, now, true
	}
	n, _, last := failures(w.scene, c, w.scene.Group(c.id()))
	if r := refusal(w.scene, c); n == 0 && c.set.Flex.Capacity.AtOnce() && r.Failing.Times > 0 {
		n, last = 1, r.Failing.Last // the call is repeated immediately, until Compute answers
	}
	end := last.Add(retryAfter(n))
	if end.After(now) {
		end = now
	}
	return last, end, n > 0
}

// isBeingAsked reports whether a request for the cohort is being made, or has been made and
// does not show yet.
func isBeingAsked(w *wanted, c *cohort) bool {
	g := w.scene.Group(c.id())
	return !w.scene.Unseen(c.set.Region) && (g != nil && !c.shares() && w.scene.Creates(g) ||
		slices.ContainsFunc(c.nodes, func(name string) bool { return w.scene.Seen.Asking[name] || w.scene.Seen.Inserted[name] }))
}

// lacksSince returns the start of the cohort's wait for capacity without its pauses: now minus the
// count of Asked. It returns zero while the timers pause.
func lacksSince(w *wanted, c *cohort) time.Time {
	if !c.asked.Runs {
		return time.Time{}
	}
	return w.scene.Seen.Now.Add(-c.asked.For)
}
