package flex

import (
	"math"
	"time"
)

// age is how long ago that was. What is still to come was noted before this host's clock
// was set back, and is as good as forgotten: nothing waits until the clock is there again.
func age(now, then time.Time) time.Duration {
	if then.After(now) {
		return math.MaxInt64
	}
	return now.Sub(then)
}
