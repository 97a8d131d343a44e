package fakegce

import (
	"slices"
	"sync"
	"time"
)

// Clock provides the fake's time. Advance moves it forward by d at once.
type Clock interface {
	Now() time.Time
	// AfterFunc calls f once d has passed, unless stop is called first.
	AfterFunc(d time.Duration, f func()) (stop func())
	Advance(d time.Duration)
}

// WallClock shows real time plus the sum of all calls of Advance. In a testing/synctest bubble
// it shows the bubble's time.
type WallClock struct {
	mu    sync.Mutex
	ahead time.Duration
}

// NewWallClock returns a clock that shows real time.
func NewWallClock() *WallClock { return new(WallClock) }

func (c *WallClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.ahead)
}

func (c *WallClock) AfterFunc(d time.Duration, f func()) func() {
	t := time.AfterFunc(d, f)
	return func() { t.Stop() }
}

// Advance moves the clock forward. A server runs events that are now due at its own next
// Advance, or at the next call to it.
func (c *WallClock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead += max(d, 0)
}

// ManualClock moves only when Advance is called.
type ManualClock struct {
	mu     sync.Mutex
	now    time.Time
	alarms []*alarm
}

type alarm struct {
	at time.Time
	f  func()
}

// NewManualClock returns a clock that shows start until Advance is called.
func NewManualClock(start time.Time) *ManualClock { return &ManualClock{now: start} }

func (c *ManualClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *ManualClock) AfterFunc(d time.Duration, f func()) func() {
	c.mu.Lock()
	defer c.mu.Unlock()
	a := &alarm{c.now.Add(d), f}
	c.alarms = append(c.alarms, a)
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.alarms = slices.DeleteFunc(c.alarms, func(b *alarm) bool { return a == b })
	}
}

// Advance moves the clock forward by d. Before it returns, it runs every event that is due, in
// order and each at its own time.
func (c *ManualClock) Advance(d time.Duration) {
	until := c.Now().Add(max(d, 0))
	for f := c.next(until); f != nil; f = c.next(until) {
		f()
	}
}

// next moves the clock to the earliest alarm due by then and returns that alarm. Without one,
// it moves the clock to until and returns nil.
func (c *ManualClock) next(until time.Time) func() {
	c.mu.Lock()
	defer c.mu.Unlock()
	first := -1
	for i, a := range c.alarms {
		if !a.at.After(until) && (first < 0 || a.at.Before(c.alarms[first].at)) {
			first = i
		}
	}
	if first < 0 {
		c.now = until
		return nil
	}
	a := c.alarms[first]
	c.alarms = slices.Delete(c.alarms, first, first+1)
	if a.at.After(c.now) {
		c.now = a.at
	}
	return a.f
}

// event is a future event in the fake's world.
type event struct {
	at  time.Time
	run func()
}

// agenda holds the future events, the next one last. Events at the same instant run in the order of
// scheduling.
type agenda []event

func (a *agenda) add(at time.Time, run func()) {
	i, _ := slices.BinarySearchFunc(*a, at, func(e event, at time.Time) int {
		if e.at.After(at) {
			return -1
		}
		return 1
	})
	*a = slices.Insert(*a, i, event{at, run})
}

// next returns the time of the next event, if there is one.
func (a agenda) next() (at time.Time, ok bool) {
	if len(a) == 0 {
		return time.Time{}, false
	}
	return a[len(a)-1].at, true
}

// pop removes and returns the next event.
func (a *agenda) pop() event {
	last := len(*a) - 1
	e := (*a)[last]
	*a = (*a)[:last]
	return e
}
