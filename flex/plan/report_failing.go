package plan

import (
	"fmt"
	"slices"

	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
)

// nameFailing adds the failure of a cohort's calls to its verdict, while the calls are repeated or
// an attempt is in flight. Every text about the cohort starts with that failure. Requests of a
// region that fail for the same reason are reported as one problem.
func nameFailing(w *wanted, verdicts []verdict) []verdict {
	type likeness struct{ region, message string }
	alike := map[likeness][]*verdict{}
	for i := range verdicts {
		v := &verdicts[i]
		if v.failing = failingOf(w, v); v.failing.Times == 0 {
			continue
		}
		// The AdminComment keeps the number of attempts that count, for other processes.
		v.why, v.quiet = v.failing.String(), refusal(w.scene, v.cohort).Times > 0
		key := likeness{v.cohort.set.Region, v.failing.Message}
		alike[key] = append(alike[key], v)
	}
	for key, those := range alike {
		first, groups := those[0], those[0].cohort.group
		if more := len(those) - 1; more > 0 {
			groups += fmt.Sprintf(" and %d more", more)
		}
		first.problems = append(slices.Clone(first.problems), scene.NewProblem("request-failing", key.region+" "+first.failing.Cause.String(), "%s: %s%s",
			groups, first.why, inGooglesWords(key.message)))
	}
	return verdicts
}

// failingOf returns how the calls for a cohort fail. It returns zero if nothing is being requested or
// no call has failed since the job was allocated its nodes.
func failingOf(w *wanted, v *verdict) scene.Failing {
	c := v.cohort
	f := refusal(w.scene, c).Failing
	unsure := func(name string) bool { return w.scene.Seen.Asking[name] || w.scene.Seen.Inserted[name] }
	tries := v.do == requests || v.do == waits && v.underWay && slices.ContainsFunc(w.scene.WithoutMachine(c.nodes), unsure)
	ours := f.Cause == mig.CauseExists && w.scene.Group(c.id()) != nil
	if !tries || ours || v.gone || c.startedAfter(f.Last) {
		return scene.Failing{}
	}
	return f
}
