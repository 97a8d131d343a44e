package scene

import (
	"time"
)

// MaxSkew is by how much our clock may differ from Compute's before ages are not
// trusted: far more than answers take and clocks drift that are kept by NTP.
const MaxSkew = 5 * time.Minute

// IsOld reports whether something of that time has reached the age. As long as our
// clock is ahead of Compute's nothing has: ages would seem longer than they are.
func (s *Scene) IsOld(since time.Time, age time.Duration) bool { return s.Seen.IsOld(since, age) }

func (s *Snapshot) IsOld(since time.Time, age time.Duration) bool {
	return s.Skew <= MaxSkew && s.Now.Sub(since) >= age
}

// IsFuture reports whether a time lies in the future by both clocks.
func (s *Scene) IsFuture(t time.Time) bool {
	return s.Seen.Skew >= -MaxSkew && t.Sub(s.Seen.Now) > MaxSkew
}

// Later returns the later of two times.
func Later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
