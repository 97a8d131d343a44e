package plan

import (
	"slices"

	"slurmflex/flex/plan/demand"
)

// nothingMissing: nothing needs to be requested, or something else must happen first. If other
// nodes of the cohort are requested meanwhile, the rule adds only a note.
func nothingMissing(_ *demand.Wanted, c *demand.Cohort) verdict {
	var v verdict
	for _, what := range c.First {
		v.do, v.quiet, v.why, v.expect = noted, true, "waiting for "+what, append(v.expect, what)
	}
	if len(c.Missing) == 0 {
		v.do, v.underWay = waits, true
	}
	return v
}

// beingRequested: an earlier pass is still creating the request.
func beingRequested(w *demand.Wanted, c *demand.Cohort) verdict {
	if len(w.Scene.Seen.Asking) == 0 || !slices.ContainsFunc(c.Missing, func(name string) bool { return w.Scene.Seen.Asking[name] }) {
		return verdict{}
	}
	what := "the request of " + c.Group + " to be made"
	return verdict{do: waits, quiet: true, why: "waiting for " + what, expect: []string{what}, pending: true, underWay: true}
}
