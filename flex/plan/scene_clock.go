package plan

import (
	"time"
)

// maxSkew is by how much our clock may differ from Compute's before ages are not
// trusted: far more than answers take and clocks drift that are kept by NTP.
const maxSkew = 5 * time.Minute

// isOld reports whether something of that time has reached the age. As long as our
// clock is ahead of Compute's nothing has: ages would seem longer than they are.
func (s *scene) isOld(since time.Time, age time.Duration) bool { return s.snap.isOld(since, age) }

func (s *Snapshot) isOld(since time.Time, age time.Duration) bool {
	return s.Skew <= maxSkew && s.Now.Sub(since) >= age
}

// isFuture reports whether a time lies in the future by both clocks.
func (s *scene) isFuture(t time.Time) bool {
	return s.snap.Skew >= -maxSkew && t.Sub(s.snap.Now) > maxSkew
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
