package plan

import (
	"fmt"
	"time"
)

// maxSkew is by how much our clock may differ from Compute's before ages are not
// trusted: far more than answers take and clocks drift that are kept by NTP.
const maxSkew = 5 * time.Minute

// isOld reports whether something of that time has reached the age. As long as our
// clock is ahead of Compute's nothing has: ages would seem longer than they are.
func (w *world) isOld(since time.Time, age time.Duration) bool {
	return w.snap.Skew <= maxSkew && w.snap.Now.Sub(since) >= age
}

// isFuture reports whether a time lies in the future by both clocks.
func (w *world) isFuture(t time.Time) bool {
	return w.snap.Skew >= -maxSkew && t.Sub(w.snap.Now) > maxSkew
}

// nameSkew reports a clock that differs from Compute's.
func (w *world) nameSkew() {
	how, effect := "ahead of", "; nothing is given up by its age until it is right"
	switch {
	case w.snap.Skew.Abs() <= maxSkew:
		return
	case w.snap.Skew < 0:
		how, effect = "behind", ""
	}
	w.problem(fmt.Sprintf("the clock of this host is %s %s Compute's%s: synchronize it (chronyc tracking; chronyc makestep)",
		roughly(w.snap.Skew.Abs()), how, effect))
}
