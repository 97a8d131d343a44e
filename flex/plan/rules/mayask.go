package rules

import "slurmflex/flex/plan/demand"

// MayAskIn returns the bar to a request for the claim now, given a count of requests: the strongest
// bar of all rules, also of those that do not decide, or else Obstructs if max_active_requests leaves
// no place. renew_before calls it before it releases anything, and the timers use the same rules. The
// claim's own live request does not count against the limit, unless a more important job would take
// its place.
func MayAskIn(w *demand.Wanted, p Places, c *demand.Claim) Bar {
	if b := barred(w, c); b != BarsNothing || c.Set.Flex.UseBulkInsert {
		return b
	}
	if c.Live != nil {
		p.free(*c.Live)
	}
	if !p.hasRoom(c) || rivals(w, c) >= w.Config.Options.MaxActiveRequests-p.inRegion[c.Set.Region] {
		return Obstructs
	}
	return BarsNothing
}

// barred returns the strongest bar that any rule sets to a request for the claim. An obstruction
// is stronger than a refusal, because slurmflex requests nothing while it lasts.
func barred(w *demand.Wanted, c *demand.Claim) (b Bar) {
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
