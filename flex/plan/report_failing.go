package plan

import (
	"fmt"
	"slices"

	"slurmflex/flex/plan/demand"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
)

// nameFailing adds the failure of a cohort's calls to its verdict, while the calls are repeated or
// an attempt is in flight. Every text about the cohort starts with that failure. Requests of a
// region that fail for the same reason are reported as one problem.
func nameFailing(w *demand.Wanted, verdicts []verdict) []verdict {
	type likeness struct{ region, message string }
	alike := map[likeness][]*verdict{}
	for i := range verdicts {
		v := &verdicts[i]
		if v.failing = failingOf(w, v); v.failing.Times == 0 {
			continue
		}
		// The AdminComment keeps the number of attempts that count, for other processes.
		v.why, v.quiet = v.failing.String(), refusal(w.Scene, v.cohort).Times > 0
		key := likeness{v.cohort.Set.Region, v.failing.Message}
		alike[key] = append(alike[key], v)
	}
	for key, those := range alike {
		first, groups := those[0], those[0].cohort.Group
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
func failingOf(w *demand.Wanted, v *verdict) scene.Failing {
	c := v.cohort
	f := refusal(w.Scene, c).Failing
	unsure := func(name string) bool { return w.Scene.Seen.Asking[name] || w.Scene.Seen.Inserted[name] }
	tries := v.do == requests || v.do == waits && v.underWay && slices.ContainsFunc(w.Scene.WithoutMachine(c.Nodes), unsure)
	ours := f.Cause == mig.CauseExists && w.Scene.Group(c.ID()) != nil
	if !tries || ours || v.gone || c.StartedAfter(f.Last) {
		return scene.Failing{}
	}
	return f
}
