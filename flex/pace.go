package flex

import (
	"errors"
	"math/rand/v2"
	"time"

	"slurmflex/flex/leader"
)

// These waits apply while a change is expected: short at first, longer the longer it takes.
const (
	soonest = 500 * time.Millisecond
	latest  = 10 * time.Second
)

// rarest is the longest wait while Slurm cannot be read, unless the interval of passes is longer. A
// wake-up ends the wait, because slurmctld can be read when it calls a hook. But slurmctld calls no
// hook for jobs that wait pending, and their machines are billed until a pass opens their doors.
const rarest = time.Minute

// pace computes the daemon's wait between passes.
type pace struct {
	interval time.Duration
	jitter   func(time.Duration) time.Duration
	quick    time.Duration // next wait while a change is expected; 0: soonest
	failed   int           // consecutive passes that failed
}

// next returns the wait after a pass that ended with err. soon reports that a change is expected
// soon.
func (p *pace) next(err error, soon bool) time.Duration {
	if errors.Is(err, leader.ErrQueued) { // another process makes this pass
		return latest
	}
	if err != nil && !errors.Is(err, leader.ErrStandby) {
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

// hurry resets the pace to the shortest wait.
func (p *pace) hurry() { p.quick = 0 }

// backOff returns the wait after a number of consecutive failures: first the interval, then twice
// as long each time, up to rarest.
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

// jitter returns the wait from Reconciler.Jitter, or d shortened by a twentieth to a seventh. It
// never returns a longer wait: the next pass must see a change, and finish a second's work, within
// the interval.
func (r *Reconciler) jitter(d time.Duration) time.Duration {
	if r.Jitter != nil {
		return r.Jitter(d)
	}
	return d - d/20 - rand.N(d/10+1)
}
