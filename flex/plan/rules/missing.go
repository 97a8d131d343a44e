package rules

import (
	"slices"

	"slurmflex/flex/plan/demand"
)

// nothingMissing: nothing needs to be requested, or something else must happen first. If other
// nodes of the claim are requested meanwhile, the rule adds only a note.
func nothingMissing(_ *demand.Wanted, c *demand.Claim) Ruling {
	var v Ruling
	for _, what := range c.First {
		v.Do, v.Quiet, v.Why, v.Soon = Noted, true, "waiting for "+what, true
	}
	if len(c.Missing) == 0 {
		v.Do, v.UnderWay = Waits, true
	}
	return v
}

// beingRequested: an earlier pass is still creating the request.
func beingRequested(w *demand.Wanted, c *demand.Claim) Ruling {
	if len(w.Seen.Asking) == 0 || !slices.ContainsFunc(c.Missing, func(name string) bool { return w.Seen.Asking[name] }) {
		return Ruling{}
	}
	return Ruling{Do: Waits, Quiet: true, Why: "waiting for the request of " + c.Group + " to be made", Soon: true, pending: true, UnderWay: true}
}
