package memory

import (
	"math"
	"time"
)

// overlap is how much later than the start of a pass an event can be recorded and still be seen by
// that pass: actions continue while the next pass reads.
const overlap = 10 * time.Minute

// age returns how long ago then was. A time in the future was recorded before this host's clock was
// set back. It counts as very old, so that nothing waits until the clock reaches that time again.
func age(now, then time.Time) time.Duration {
	if then.Sub(now) > overlap {
		return math.MaxInt64
	}
	return now.Sub(then)
}
