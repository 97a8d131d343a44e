package flex

import (
	"errors"
	"math/rand/v2"
	"time"
)

// The pace while something is expected to change: quick at first, slower the
// longer it takes.
const (
	soonest = 500 * time.Millisecond
	latest  = 10 * time.Second
)

// rarest is the longest wait while Slurm cannot be read, unless the interval of
// passes is longer. A wake-up ends it: where slurmctld calls, it can be read.
const rarest = 5 * time.Minute

// pace is how long the daemon waits between its passes.
type pace struct {
	interval time.Duration
	jitter   func(time.Duration) time.Duration
	quick    time.Duration // the next wait while something is expected; 0: soonest
	failed   int           // passes in a row that could not be made
}

// next is the wait after a pass that ended with that error, and whether
// something is expected to change soon.
func (p *pace) next(err error, soon bool) time.Duration {
	if errors.Is(err, ErrQueued) { // another process makes this pass
		return latest
	}
	if err != nil && !errors.Is(err, ErrStandby) {
		p.quick = 0
		p.failed++
		return p.jitter(backOff(p.interval, p.failed))
	}
	p.failed = 0
	wait := p.jitter(p.interval)
	if !soon {
		p.quick = 0
		return wait
	}
	quick := max(p.quick, soonest)
	p.quick = min(2*quick, latest)
	return min(quick, wait)
}

// hurry starts over with the quickest pace.
func (p *pace) hurry() { p.quick = 0 }

// backOff is the wait after so many failures in a row: the interval at first,
// doubling up to rarest.
func backOff(interval time.Duration, failures int) time.Duration {
	wait := interval
	for range failures - 1 {
		if wait >= rarest {
			break
		}
		wait = min(2*wait, rarest)
	}
	return wait
}

// jitter is the pass's Jitter, or sooner by a twentieth to a seventh, never
// later: what happens is seen, and a second's work done, within the interval.
func (r *Reconciler) jitter(d time.Duration) time.Duration {
	if r.Jitter != nil {
		return r.Jitter(d)
	}
	return d - d/20 - rand.N(d/10+1)
}
