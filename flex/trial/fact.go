package trial

import "slurmflex/mig"

// Mark says how a fact is known.
type Mark string

// The marks of the facts that slurmflex was built on.
const (
	Documented Mark = "documented" // by Google, or in the discovery document
	Evident    Mark = "evident"    // in Google's own clients, or in users' reports
	Inferred   Mark = "inferred"   // from those
	Role       Mark = "role"       // the role that the credentials have
)

// Fact is something that slurmflex relies on Compute to do.
type Fact struct {
	Name  string
	Mark  Mark
	Does  string // what the trial does
	Wants string // what must be seen then
	saw   func(*seen) sight
}

// sight is what was seen of a fact.
type sight struct {
	text   string // empty: it was not tried
	detail string // Compute's own words, for people
}

// Verdict says whether a fact held.
type Verdict string

// The verdicts.
const (
	Held     Verdict = "held"
	Differed Verdict = "differed"
	NotTried Verdict = "not tried"
)

// judge compares a fact with what was seen.
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

// result is how a step ended; a nil one was not made.
type result struct {
	look *look // what it saw, if it looked
	err  error
}

// ok reports whether the step was made and succeeded.
func (r *result) ok() bool { return r != nil && r.err == nil }

// unanswered reports whether a call was made, and may have been taken.
func (r *result) unanswered() bool { return r != nil && mig.CauseOf(r.err) == mig.CauseUnavailable }

const taken = "accepted"

// refused is the text for a call that was refused for a cause.
func refused(c mig.Cause) string { return "refused: " + c.String() }

// ended sees how the call of a step ended.
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

// may is the fact that the credentials may do what a step does. A call that fails for any
// other reason shows nothing.
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

// saw sees something of what a step looked at.
func saw(step string, text func(s *seen, l look) string) func(*seen) sight {
	return func(s *seen) sight {
		if l := s.look(step); l != nil {
			return sight{text: text(s, *l)}
		}
		return sight{}
	}
}

// sawSize sees the group's target size.
func sawSize(step string) func(*seen) sight {
	return saw(step, func(_ *seen, l look) string { return size(l) })
}

// sawState sees the state of a request.
func sawState(step, request string) func(*seen) sight {
	return saw(step, func(_ *seen, l look) string { return l.state(request) })
}
