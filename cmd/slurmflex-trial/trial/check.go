package trial

import "slurmflex/mig"

// source is the reason to expect a behavior of Compute.
type source string

// These are the sources of the expected behavior.
const (
	documented source = "documented" // by Google's documentation or the discovery document
	evident    source = "evident"    // from Google's own clients or users' reports
	inferred   source = "inferred"   // from documented and evident behavior
	role       source = "role"       // about the permissions of the credentials' role
)

// check compares a behavior of Compute that slurmflex depends on with the expected one.
type check struct {
	name   string
	source source
	does   string // action of the trial
	wants  string // expected observation
	saw    observer
}

// observer returns what a trial observed.
type observer func(*seen) observation

// observation is what decides whether a check passed.
type observation struct {
	text   string // empty: the check was skipped
	detail string // Compute's error message, for the user
}

// verdict is the outcome of a check.
type verdict string

// These are the verdicts.
const (
	passed  verdict = "passed"
	failed  verdict = "failed"
	skipped verdict = "skipped"
)

// judge compares the observation with the expected one.
func (c check) judge(s *seen) (verdict, observation) {
	switch got := c.saw(s); got.text {
	case "":
		return skipped, got
	case c.wants:
		return passed, got
	default:
		return failed, got
	}
}

// result is the outcome of a step; nil if the step was skipped.
type result struct {
	snapshot *snapshot // nil if the step took none
	err      error
}

// ok reports whether the step was executed and succeeded.
func (r *result) ok() bool { return r != nil && r.err == nil }

// unanswered reports whether a call was sent and Compute may have accepted it without an answer.
func (r *result) unanswered() bool { return r != nil && mig.CauseOf(r.err) == mig.CauseUnavailable }

const taken = "accepted"

// refused returns the text for a call that Compute rejected for a cause.
func refused(c mig.Cause) string { return "refused: " + string(c) }

// ended returns an observer of how the call of a step ended.
func ended(step string) observer {
	return func(s *seen) observation {
		switch r := s.results[step]; {
		case r == nil:
			return observation{}
		case r.err == nil:
			return observation{text: taken}
		default:
			return observation{refused(mig.CauseOf(r.err)), r.err.Error()}
		}
	}
}

const allowed = "allowed"

// may returns the check that the credentials have the permission for a step. A call that fails for
// another reason proves nothing.
func may(do, permission, step string) check {
	return check{"may " + do, role, permission, allowed, func(s *seen) observation {
		switch got := ended(step)(s); got.text {
		case taken:
			return observation{text: allowed}
		case refused(mig.CausePermission):
			return got
		}
		return observation{}
	}}
}

// saw returns an observer of a step's snapshot.
func saw(step string, text func(s *seen, l snapshot) string) observer {
	return func(s *seen) observation {
		if l := s.snapshot(step); l != nil {
			return observation{text: text(s, *l)}
		}
		return observation{}
	}
}

// sawSize returns an observer of the group's target size.
func sawSize(step string) observer {
	return saw(step, func(_ *seen, l snapshot) string { return size(l) })
}

// sawState returns an observer of a request's state.
func sawState(step, request string) observer {
	return saw(step, func(_ *seen, l snapshot) string { return l.state(request) })
}
