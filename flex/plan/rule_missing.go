package plan

import (
	"slices"
)

// nothingMissing: there is nothing to request, or not before something else has come,
// which is noted if the rest is requested meanwhile.
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

// beingRequested: an earlier pass is about to make the request.
func beingRequested(w *wanted, c *cohort) verdict {
	if len(w.scene.Seen.Asking) == 0 || !slices.ContainsFunc(c.missing, func(name string) bool { return w.scene.Seen.Asking[name] }) {
		return verdict{}
	}
	what := "the request of " + c.group + " to be made"
	return verdict{do: waits, quiet: true, why: "waiting for " + what, expect: []string{what}, pending: true, underWay: true}
}
