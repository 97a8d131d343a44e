package rules

import "slurmflex/flex/plan/demand"

// MayAsk reports whether a request for the claim could be made now, given the count of requests: no
// rule bars it, not even one that does not decide, and max_active_requests leaves a place.
// renew_before calls it before it releases anything, and the timers use the same rules. The claim's
// own live request does not count against the limit, unless a more important job would take its
// place.
func (p Places) MayAsk(c *demand.Claim) bool {
	if isBarred := barred(p.w, c) != BarsNothing; isBarred || c.Set.Flex.UseBulkInsert {
		return !isBarred
	}
	if c.Live != nil {
		p.free(*c.Live)
	}
	return p.hasRoom(c) && rivals(p.w, c) < p.w.Config.Options.MaxActiveRequests-p.inRegion[c.Set.Region]
}

// barred returns the strongest bar that any rule sets to a request for the claim. An obstruction
// is stronger than a refusal, because slurmflex requests nothing while it lasts.
func barred(w *demand.Wanted, c *demand.Claim) (b bar) {
	for _, r := range rules {
		if r.bar > b && r.judge(w, c).Do > Noted {
			b = r.bar
		}
	}
	return b
}

// rivals counts the more important claims of the region that could be requested now.
func rivals(w *demand.Wanted, c *demand.Claim) (n int) {
	for _, other := range w.Claims {
		if demand.ByRank(other, c) < 0 && other.Set.Region == c.Set.Region && other.Live == nil && len(other.Missing) > 0 &&
			!other.Set.Flex.UseBulkInsert && barred(w, other) == BarsNothing {
			n++
		}
	}
	return n
}
