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

// outcome is how a call ended; a nil one was not made.
type outcome struct{ err error }

// ok reports whether the call was made and taken.
func (o *outcome) ok() bool { return o != nil && o.err == nil }

// unanswered reports whether the call was made, and may have been taken.
func (o *outcome) unanswered() bool { return o != nil && mig.CauseOf(o.err) == mig.CauseUnavailable }

const taken = "accepted"

// refused is the text for a call that was refused for a cause.
func refused(c mig.Cause) string { return "refused: " + c.String() }

// call sees how a call ended.
func call(of func(*seen) *outcome) func(*seen) sight {
	return func(s *seen) sight {
		switch o := of(s); {
		case o == nil:
			return sight{}
		case o.err == nil:
			return sight{text: taken}
		default:
			return sight{refused(mig.CauseOf(o.err)), o.err.Error()}
		}
	}
}

const allowed = "allowed"

// may is the fact that the credentials may do something. A call that fails for any
// other reason shows nothing.
func may(do, permission string, of func(*seen) *outcome) Fact {
	return Fact{"may " + do, Role, permission, allowed, func(s *seen) sight {
		switch o := of(s); {
		case o == nil:
		case o.err == nil:
			return sight{text: allowed}
		case mig.CauseOf(o.err) == mig.CausePermission:
			return sight{refused(mig.CausePermission), o.err.Error()}
		}
		return sight{}
	}}
}

// of sees something of what was read, if it was.
func of[T any](pick func(*seen) *T, text func(T) string) func(*seen) sight {
	return func(s *seen) sight {
		if v := pick(s); v != nil {
			return sight{text: text(*v)}
		}
		return sight{}
	}
}
