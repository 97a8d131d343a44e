package trial

import "slurmflex/mig"

// Mark names the source of a fact.
type Mark string

// These are the marks of the facts that slurmflex depends on.
const (
	Documented Mark = "documented" // by Google's documentation or the discovery document
	Evident    Mark = "evident"    // from Google's own clients or users' reports
	Inferred   Mark = "inferred"   // from documented and evident facts
	Role       Mark = "role"       // about the permissions of the credentials' role
)

// Fact is a behavior of Compute that slurmflex depends on.
type Fact struct {
	Name  string
	Mark  Mark
	Does  string // action of the trial
	Wants string // expected observation
	saw   func(*seen) sight
}

// sight is the observation that decides about a fact.
type sight struct {
	text   string // empty: the fact was not tried
	detail string // Compute's error message, for the user
}

// Verdict is the result of checking a fact.
type Verdict string

// These are the verdicts.
const (
	Held     Verdict = "held"
	Differed Verdict = "differed"
	NotTried Verdict = "not tried"
)

// judge compares a fact with the observation.
func (f Fact) judge(s *seen) (Verdict, sight) {
	switch got := f.saw(s); got.text {
	case "":
		return NotTried, got
	case f.Wants:
		return Held, got
	default:
		return Differed, got
	}
}

// result is the outcome of a step; nil if the step was skipped.
type result struct {
	look *look // nil if the step did not look
	err  error
}

// ok reports whether the step was executed and succeeded.
func (r *result) ok() bool { return r != nil && r.err == nil }

// unanswered reports whether a call was sent and Compute may have accepted it without an answer.
func (r *result) unanswered() bool { return r != nil && mig.CauseOf(r.err) == mig.CauseUnavailable }

const taken = "accepted"

// refused returns the text for a call that Compute rejected for a cause.
func refused(c mig.Cause) string { return "refused: " + c.String() }

// ended returns an observer of how the call of a step ended.
func ended(step string) func(*seen) sight {
	return func(s *seen) sight {
		switch r := s.results[step]; {
		case r == nil:
			return sight{}
		case r.err == nil:
			return sight{text: taken}
		default:
			return sight{refused(mig.CauseOf(r.err)), r.err.Error()}
		}
	}
}

const allowed = "allowed"

// may returns the fact that the credentials have the permission for a step. A call that fails for
// another reason proves nothing.
func may(do, permission, step string) Fact {
	return Fact{"may " + do, Role, permission, allowed, func(s *seen) sight {
		switch r := s.results[step]; {
		case r == nil:
		case r.err == nil:
			return sight{text: allowed}
		case mig.CauseOf(r.err) == mig.CausePermission:
			return sight{refused(mig.CausePermission), r.err.Error()}
		}
		return sight{}
	}}
}

// saw returns an observer of a step's look.
func saw(step string, text func(s *seen, l look) string) func(*seen) sight {
	return func(s *seen) sight {
		if l := s.look(step); l != nil {
			return sight{text: text(s, *l)}
		}
		return sight{}
	}
}

// sawSize returns an observer of the group's target size.
func sawSize(step string) func(*seen) sight {
	return saw(step, func(_ *seen, l look) string { return size(l) })
}

// sawState returns an observer of a request's state.
func sawState(step, request string) func(*seen) sight {
	return saw(step, func(_ *seen, l look) string { return l.state(request) })
}
