package fakegce

import (
	"container/heap"
	"slices"
	"sync"
	"time"
)

// Clock is where the fake's time comes from. Advance lets d pass at once.
type Clock interface {
	Now() time.Time
	// AfterFunc calls f once d has passed, unless stop is called first.
	AfterFunc(d time.Duration, f func()) (stop func())
	Advance(d time.Duration)
}

// WallClock is real time, plus whatever Advance has added to it. In a
// testing/synctest bubble it is the bubble's time.
type WallClock struct {
	mu    sync.Mutex
	ahead time.Duration
}

// NewWallClock is a clock that shows the real time.
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

// Advance puts the clock forward. A server notices what is due when its own
// Advance is called, or with the next call to it.
func (c *WallClock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead += max(d, 0)
}

// ManualClock stands still until Advance.
type ManualClock struct {
	mu     sync.Mutex
	now    time.Time
	alarms []*alarm
}

type alarm struct {
	at time.Time
	f  func()
}

// NewManualClock is a clock that shows start until it is advanced.
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

// Advance lets d pass: everything that is due happens, in order and each at
// its own time, before Advance returns.
func (c *ManualClock) Advance(d time.Duration) {
	until := c.Now().Add(max(d, 0))
	for f := c.next(until); f != nil; f = c.next(until) {
		f()
	}
}

// next moves to the earliest alarm due until then and hands it out, or moves
// there and returns nil.
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

// event is something that will happen in the fake's world.
type event struct {
	at  time.Time
	seq uint64 // events of one instant happen in the order in which they were planned
	run func()
}

// agenda holds the events to come.
type agenda struct {
	events eventHeap
	seq    uint64
}

func (a *agenda) add(at time.Time, run func()) {
	a.seq++
	heap.Push(&a.events, event{at, a.seq, run})
}

// due takes the next event out if it is due by now.
func (a *agenda) due(now time.Time) (event, bool) {
	if len(a.events) == 0 || a.events[0].at.After(now) {
		return event{}, false
	}
	return heap.Pop(&a.events).(event), true
}

type eventHeap []event

func (h eventHeap) Len() int { return len(h) }
func (h eventHeap) Less(i, j int) bool {
	if h[i].at.Equal(h[j].at) {
		return h[i].seq < h[j].seq
	}
	return h[i].at.Before(h[j].at)
}
func (h eventHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *eventHeap) Push(e any)   { *h = append(*h, e.(event)) }
func (h *eventHeap) Pop() any {
	last := len(*h) - 1
	e := (*h)[last]
	*h = (*h)[:last]
	return e
}
