package scene

import (
	"time"
)

// MaxSkew limits the difference between our clock and Compute's: beyond it, ages are not trusted.
// It is far longer than an answer takes, and than the drift of clocks that NTP adjusts.
const MaxSkew = 5 * time.Minute

// IsOld reports whether the time since then has reached the age. It reports false while our clock
// is more than MaxSkew ahead of Compute's, because ages would seem longer than they are.
func (s *Scene) IsOld(since time.Time, age time.Duration) bool { return s.Seen.IsOld(since, age) }

// IsOld reports whether the time since then has reached the age; see Scene.IsOld.
func (s *Snapshot) IsOld(since time.Time, age time.Duration) bool {
	return s.Skew <= MaxSkew && s.Now.Sub(since) >= age
}

// Later returns the later of two times.
func Later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
