package flex

import (
	"math"
	"time"
)

// overlap is by how much something may be noted later than a pass began that looks at it:
// actions go on while the next pass reads.
const overlap = 10 * time.Minute

// age is how long ago that was. What is still to come was noted before this host's clock
// was set back, and is as good as forgotten: nothing waits until the clock is there again.
func age(now, then time.Time) time.Duration {
	if then.Sub(now) > overlap {
		return math.MaxInt64
	}
	return now.Sub(then)
}
