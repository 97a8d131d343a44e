package scene

import (
	"fmt"
	"time"

	"slurmflex/mig"
)

// Refusal is the outcome of calls to create something. All fields except Failing describe only
// failures that count as attempts. Rate limits, for example, do not count.
type Refusal struct {
	mig.Trouble
	At    time.Time // of the last failure that counts
	Times int       // failures in a row that count
	// With CauseExists: the cluster in the existing resource's stamp; empty if unknown.
	Owner string

	Failing Failing // all consecutive failures
}

// Last returns the time of the last failure, whether or not it counts.
func (r Refusal) Last() time.Time { return Later(r.At, r.Failing.Last) }

// Fail adds a failed call. before is the number of earlier failures that another process saw; the
// count continues from there.
func (r Refusal) Fail(why mig.Trouble, owner string, at time.Time, before int) Refusal {
	r.Failing = r.Failing.add(why, at)
	if why.Cause.Then() == mig.Repeats {
		return r
	}
	r.Trouble, r.Owner, r.At, r.Times = why, owner, at, max(r.Times, before)+1
	return r
}

// Failing counts consecutive failed calls to create machines, whatever the cause. It is zero after
// a successful call.
type Failing struct {
	mig.Trouble // of the last call
	Times       int
	Since       time.Time // of the first call
	Last        time.Time
}

// add counts another failed call.
func (f Failing) add(why mig.Trouble, at time.Time) Failing {
	if f.Times == 0 {
		f.Since = at
	}
	return Failing{Trouble: why, Times: f.Times + 1, Since: f.Since, Last: at}
}

// Every returns the average time between two attempts; 0 before the second.
func (f Failing) Every() time.Duration {
	if f.Times < 2 {
		return 0
	}
	return (f.Last.Sub(f.Since) / time.Duration(f.Times-1)).Round(time.Second)
}

// FailingText describes the state of a failing request. brief is the brief form of mig.Trouble.
func FailingText(cause mig.Cause, brief string) string {
	switch cause {
	case mig.CauseUnavailable:
		return "failing for now (" + brief + ")"
	case mig.CauseUnknown:
		return "failing for now (unknown cause)"
	case mig.CauseCapacity, mig.CauseQuota, mig.CauseRate:
		return "refused for now (" + brief + ")"
	}
	return "refused for now (" + string(cause) + ")"
}

// String describes the failure without the number of attempts and without the parts of Google's
// message that vary: an AdminComment must not change with each attempt.
func (f Failing) String() string {
	return fmt.Sprintf("%s since %s, retrying", FailingText(f.Cause, f.Brief()), f.Since.UTC().Format(time.RFC3339))
}
