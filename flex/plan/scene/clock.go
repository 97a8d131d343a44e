package scene

import (
	"fmt"
	"time"
)

// MaxSkew limits the difference between our clock and Compute's: beyond it, ages are not trusted.
// It is far longer than an answer takes, and than the drift of clocks that NTP adjusts.
const MaxSkew = 5 * time.Minute

// IsOld reports whether the time since then has reached the age. It reports false while our clock
// is more than MaxSkew ahead of Compute's, because ages would seem longer than they are.
func (s *Scene) IsOld(since time.Time, age time.Duration) bool {
	return s.Seen.Skew <= MaxSkew && s.Seen.Now.Sub(since) >= age
}

// Later returns the later of two times.
func Later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// Earlier returns the earlier of two times that are known; zero if none is.
func Earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// Roughly formats a time in whole minutes, and from one hour on in steps of ten minutes, so that a
// text does not change in every pass.
func Roughly(d time.Duration) string {
	step := time.Minute
	if d >= time.Hour {
		step = 10 * time.Minute
	}
	d = d.Truncate(step)
	switch {
	case d < time.Minute:
		return "less than a minute"
	case d >= 24*time.Hour:
		return fmt.Sprintf("%dd%02dh", d/(24*time.Hour), d%(24*time.Hour)/time.Hour)
	case d >= time.Hour:
		return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
	}
	return fmt.Sprintf("%dm", d/time.Minute)
}
