package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"slurmflex/mig"
)

// Failing counts consecutive failed calls to create machines, whatever the cause. It is zero
// after a successful call.
type Failing struct {
	Cause   mig.Cause // of the last call
	Message string    // of the last call
	Times   int
	Since   time.Time // of the first call
	Last    time.Time
}

// add counts another failed call.
func (f Failing) add(cause mig.Cause, message string, at time.Time) Failing {
	if f.Times == 0 {
		f.Since = at
	}
	return Failing{Cause: cause, Message: message, Times: f.Times + 1, Since: f.Since, Last: at}
}

// Every returns the average time between two attempts; 0 before the second.
func (f Failing) Every() time.Duration {
	if f.Times < 2 {
		return 0
	}
	return (f.Last.Sub(f.Since) / time.Duration(f.Times-1)).Round(time.Second)
}

// FailingText describes the state of a failing request and the cause, as mig.Cause spells it.
func FailingText(cause string) string {
	switch cause {
	case mig.CauseRate.String():
		return "refused for now (rate limit)"
	case mig.CauseUnavailable.String():
		return "failing for now (Compute is unavailable)"
	case mig.CauseUnknown.String():
		return "failing for now (unknown cause)"
	}
	return "refused for now (" + cause + ")"
}

// String describes the failure without the number of attempts: an AdminComment and a
// problem must not change with each attempt.
func (f Failing) String() string {
	return fmt.Sprintf("%s since %s, retrying: %s", FailingText(f.Cause.String()), f.Since.UTC().Format(time.RFC3339), strings.TrimSuffix(f.Message, "."))
}

// nameFailing adds the failure of a cohort's calls to its verdict, while the calls are repeated
// or an attempt is in flight. Every text about the cohort starts with that failure.
func nameFailing(w *wanted, verdicts []verdict) []verdict {
	for i := range verdicts {
		v := &verdicts[i]
		if v.failing = w.failing(v); v.failing.Times == 0 {
			continue
		}
		// The AdminComment keeps the number of attempts that count, for other processes.
		v.why, v.quiet = v.failing.String(), w.refusal(v.cohort).Times > 0
		v.problems = append(slices.Clone(v.problems), problem("request-failing", v.cohort.group, "%s: %s", v.cohort.group, v.why))
	}
	return verdicts
}

// failing returns how the calls for a cohort fail, and zero if nothing is being requested
// or no call has failed since the job received its nodes.
func (w *wanted) failing(v *verdict) Failing {
	c := v.cohort
	f := w.refusal(c).Failing
	unsure := func(name string) bool { return w.snap.Asking[name] || w.snap.Inserted[name] }
	tries := v.do == requests || v.do == waits && v.underWay && slices.ContainsFunc(w.withoutMachine(c.nodes), unsure)
	ours := f.Cause == mig.CauseExists && w.groups[c.id()] != nil
	if !tries || ours || v.gone || c.startedAfter(f.Last) {
		return Failing{}
	}
	return f
}
