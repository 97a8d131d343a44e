package fakegce

import (
	"container/heap"
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
	seq uint64 // events at the same instant run in the order of scheduling
	run func()
}

// agenda holds the future events.
type agenda struct {
	events eventHeap
	seq    uint64
}

func (a *agenda) add(at time.Time, run func()) {
	a.seq++
	heap.Push(&a.events, event{at, a.seq, run})
}

// due removes and returns the next event if it is due by now.
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
