package rules

import (
	"slices"
	"time"

	"slurmflex/flex/plan/demand"
	"slurmflex/flex/plan/memo"
	"slurmflex/flex/plan/scene"
)

// askedKey returns the claim's key in Snapshot.Asked. The key does not change when another group
// replaces the claim's own.
func askedKey(c *demand.Claim) string {
	return c.Outcome(memo.Replaced(c.Group))
}

// AskedOf collects the counts of all claims for the next pass; see Plan.Asked.
func AskedOf(w *demand.Wanted) map[string]scene.Asked {
	all := map[string]scene.Asked{}
	for _, c := range w.Claims {
		if c.Asked != (scene.Asked{}) {
			all[askedKey(c)] = c.Asked
		}
	}
	return all
}

// countAsked adds to the claim's count the part of the time since the last pass during which a
// request was live or refused. Time before the job's allocation does not count.
func countAsked(w *demand.Wanted, c *demand.Claim) scene.Asked {
	if c.Job == nil {
		return scene.Asked{}
	}
	now := w.Seen.Now.Round(0) // so that comparisons notice a clock that was set back
	known := w.Seen.Asked[askedKey(c)]
	if known.Job != c.Job.ID || known.At.Before(c.Job.Start) || known.At.After(now) {
		known = scene.Asked{}
	}
	since, until, counts := askedSince(w, c)
	if !counts || w.Seen.Skew > scene.MaxSkew {
		if known != (scene.Asked{}) {
			known.At, known.Runs = now, false
		}
		return known
	}
	since = scene.Later(since, c.Job.Start)
	from := scene.Later(since, known.At)
	if known.Runs { // no pass between the two saw an obstacle
		from = known.At
	}
	return scene.Asked{Job: c.Job.ID, For: max(0, until.Sub(since), known.For+max(0, until.Sub(from))), At: now, Runs: until.Equal(w.Seen.Now)}
}

// askedSince returns the latest time span during which a request for the claim is live, is being
// made, or is refused, as far as Compute and this process know. A refusal lasts until its
// back-off ends. A live request counts whatever prevents a new one. Without one, askedSince reports
// false while an obstacle prevents a new request.
func askedSince(w *demand.Wanted, c *demand.Claim) (since, until time.Time, counts bool) {
	now := w.Seen.Now
	switch {
	case c.Live != nil:
		return c.Live.Request.Created, now, true
	case isBeingAsked(w, c):
		return now, now, true
	case barred(w, c) == Obstructs:
		return time.Time{}, time.Time{}, false
	}
	if in, found := firstStranger(w.Scene, c); found {
		return in.Created, now, true
	}
	n, _, last := c.Failures(w.Scene)
	if r := c.Refusal(w.Scene); n == 0 && c.Set.Flex.Capacity.AtOnce() && r.Failing.Times > 0 {
		n, last = 1, r.Failing.Last // the call is repeated immediately, until Compute answers
	}
	end := last.Add(retryAfter(n))
	if end.After(now) {
		end = now
	}
	return last, end, n > 0
}

// isBeingAsked reports whether a request for the claim is being made, or has been made and
// does not show yet.
func isBeingAsked(w *demand.Wanted, c *demand.Claim) bool {
	of := w.Group(c.ID())
	return !w.Unseen(c.Set.Region) && (of.Usable != nil && !c.Shares() && of.Creates ||
		slices.ContainsFunc(c.Nodes, w.IsBeingMade))
}

// lacksSince returns the start of the claim's wait for capacity without its pauses: now minus the
// count of Asked. It returns zero while the timers pause.
func lacksSince(w *demand.Wanted, c *demand.Claim) time.Time {
	if !c.Asked.Runs {
		return time.Time{}
	}
	return w.Seen.Now.Add(-c.Asked.For)
}
