package plan

import (
	"slices"
)

// nothingMissing: nothing needs to be requested, or something else must happen first. If other
// nodes of the cohort are requested meanwhile, the rule adds only a note.
func nothingMissing(_ *wanted, c *cohort) verdict {
	var v verdict
	for _, what := range c.first {
		v.do, v.quiet, v.why, v.expect = noted, true, "waiting for "+what, append(v.expect, what)
	}
	if len(c.missing) == 0 {
		v.do, v.underWay = waits, true
	}
	return v
}

// beingRequested: an earlier pass is still creating the request.
func beingRequested(w *wanted, c *cohort) verdict {
	if len(w.scene.Seen.Asking) == 0 || !slices.ContainsFunc(c.missing, func(name string) bool { return w.scene.Seen.Asking[name] }) {
		return verdict{}
	}
	what := "the request of " + c.group + " to be made"
	return verdict{do: waits, quiet: true, why: "waiting for " + what, expect: []string{what}, pending: true, underWay: true}
}
