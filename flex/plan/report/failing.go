package report

import (
	"fmt"
	"slices"

	"slurmflex/flex/plan/demand"
	"slurmflex/flex/plan/rules"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
)

// nameFailing adds the failure of a claim's calls to its verdict, while the calls are repeated or
// an attempt is in flight. Every text about the claim starts with that failure. Requests of a
// region that fail for the same reason are reported as one problem.
func nameFailing(w *demand.Wanted, verdicts []rules.Verdict) {
	type likeness struct{ region, message string }
	alike := map[likeness][]*rules.Verdict{}
	for i := range verdicts {
		v := &verdicts[i]
		if v.Failing = failingOf(w, v); v.Failing.Times == 0 {
			continue
		}
		// The AdminComment keeps the number of attempts that count, for other processes.
		v.Why, v.Quiet = v.Failing.String(), v.Claim.Refusal(w.Scene).Times > 0
		key := likeness{v.Claim.Set.Region, v.Failing.Message}
		alike[key] = append(alike[key], v)
	}
	for key, those := range alike {
		first, groups := those[0], those[0].Claim.Group
		if more := len(those) - 1; more > 0 {
			groups += fmt.Sprintf(" and %d more", more)
		}
		first.Problems = append(slices.Clone(first.Problems), scene.NewProblem("request-failing", key.region+" "+string(first.Failing.Cause), "%s: %s%s",
			groups, first.Why, first.Failing.InGooglesWords()))
	}
}

// failingOf returns how the calls for a claim fail. It returns zero if nothing is being requested or
// no call has failed since the job was allocated its nodes.
func failingOf(w *demand.Wanted, v *rules.Verdict) scene.Failing {
	c := v.Claim
	f := c.Refusal(w.Scene).Failing
	tries := v.Do == rules.Requests || v.Do == rules.Waits && v.UnderWay && slices.ContainsFunc(w.WithoutMachine(c.Nodes), w.IsBeingMade)
	ours := f.Cause == mig.CauseExists && w.Group(c.ID()).Usable != nil
	if !tries || ours || v.Gone || c.StartedAfter(f.Last) {
		return scene.Failing{}
	}
	return f
}
