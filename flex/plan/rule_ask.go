package plan

// mayAsk returns the obstacle to a request for the cohort now: first a rule's bar, then
// max_active_requests. refresh_after and renew_before call mayAsk before they release anything, and
// the timers use the same rules. The cohort's own live request does not count against the limit,
// unless a more important job would take its place.
func mayAsk(w *wanted, c *cohort) bar { return mayAskIn(w, placesNow(w), c) }

// mayAskIn is mayAsk for a given count of requests.
func mayAskIn(w *wanted, p places, c *cohort) bar {
	if b := barred(w, c); b != barsNothing || c.set.Flex.UseBulkInsert {
		return b
	}
	if c.live != nil {
		p.free(*c.live)
	}
	if !p.hasRoom(c) || rivals(w, c) >= w.scene.Config.Options.MaxActiveRequests-p.inRegion[c.set.Region] {
		return obstructs
	}
	return barsNothing
}

// barred returns the strongest bar that any rule sets to a request for the cohort. An obstruction
// is stronger than a refusal, because slurmflex requests nothing while it lasts.
func barred(w *wanted, c *cohort) (b bar) {
	for _, r := range rules {
		if r.bar > b && r.judge(w, c).do > noted {
			b = r.bar
		}
	}
	return b
}

// rivals counts the more important cohorts of the region that could be requested now.
func rivals(w *wanted, c *cohort) (n int) {
	for _, other := range w.cohorts {
		if byRank(other, c) < 0 && other.set.Region == c.set.Region && other.live == nil && len(other.missing) > 0 &&
			!other.set.Flex.UseBulkInsert && barred(w, other) == barsNothing {
			n++
		}
	}
	return n
}
