package plan

// mayAsk returns the obstacle to a request for the cohort now: first a rule's bar, then
// max_active_requests. refresh_after and renew_before call mayAsk before they release anything, and
// the timers use the same rules. The cohort's own live request does not count against the limit,
// unless a more important job would take its place.
func (w *wanted) mayAsk(c *cohort) bar { return w.mayAskIn(w.placesNow(), c) }

// mayAskIn is mayAsk for a given count of requests.
func (w *wanted) mayAskIn(p places, c *cohort) bar {
	if b := w.barred(c); b != barsNothing || c.set.Flex.UseBulkInsert {
		return b
	}
	if c.live != nil {
		p.free(*c.live)
	}
	if !p.hasRoom(c) || w.rivals(c) >= w.scene.Config.Options.MaxActiveRequests-p.inRegion[c.set.Region] {
		return obstructs
	}
	return barsNothing
}

// barred returns the strongest bar that any rule sets to a request for the cohort. An obstruction
// is stronger than a refusal, because slurmflex requests nothing while it lasts.
func (w *wanted) barred(c *cohort) (b bar) {
	for _, r := range rules {
		if r.bar > b && r.judge(w, c).do > noted {
			b = r.bar
		}
	}
	return b
}

// rivals counts the more important cohorts of the region that could be requested now.
func (w *wanted) rivals(c *cohort) (n int) {
	for _, other := range w.cohorts {
		if byRank(other, c) < 0 && other.set.Region == c.set.Region && other.live == nil && len(other.missing) > 0 &&
			!other.set.Flex.UseBulkInsert && w.barred(other) == barsNothing {
			n++
		}
	}
	return n
}
