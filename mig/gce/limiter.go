package gce

import (
	"context"
	"net/http"
	"path"
	"slices"
	"sync"
	"time"
)

// urgency orders the calls that wait for the rate limit. What ends costs first:
// then what somebody waits for, then what only looks.
type urgency int

const (
	toEnd urgency = iota
	toCreate
	toLook
	urgencies
)

// urgencyOf is how urgent a call is.
func urgencyOf(req *http.Request) urgency {
	verb := path.Base(req.URL.Path)
	switch {
	case req.Method == http.MethodDelete, verb == "cancel", verb == "deleteInstances":
		return toEnd
	case req.Method == http.MethodGet, verb == "listManagedInstances", verb == "capacity", isWait(req):
		return toLook
	}
	return toCreate
}

// isWait reports whether a call is one of operations.wait.
func isWait(req *http.Request) bool { return path.Base(req.URL.Path) == "wait" }

// limiter lets calls through at a rate, after a pause a burst of them at once,
// and of those that wait the most urgent first, in the order of their coming.
type limiter struct {
	interval time.Duration // between calls
	burst    int

	mu      sync.Mutex
	spent   time.Time // when, at the rate, the last call let through was due
	waiting [urgencies][]chan struct{}
	timer   *time.Timer // lets the next one through; nil while nobody waits
}

func newLimiter(perSecond float64, burst int) *limiter {
	return &limiter{interval: time.Duration(float64(time.Second) / perSecond), burst: burst}
}

// wait returns when the call may be made, or with ctx's error.
func (l *limiter) wait(ctx context.Context, u urgency) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	turn := make(chan struct{})
	l.mu.Lock()
	l.waiting[u] = append(l.waiting[u], turn)
	if l.timer == nil {
		l.letThrough()
	}
	l.mu.Unlock()
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
		l.mu.Lock()
		defer l.mu.Unlock()
		l.waiting[u] = slices.DeleteFunc(l.waiting[u], func(w chan struct{}) bool { return w == turn })
		return ctx.Err()
	}
}

// letThrough lets as many calls through as the rate allows now, and comes again
// for the rest. The lock is held.
func (l *limiter) letThrough() {
	l.timer = nil
	now := time.Now()
	if oldest := now.Add(-time.Duration(l.burst) * l.interval); l.spent.Before(oldest) {
		l.spent = oldest
	}
	for u := range l.waiting {
		for len(l.waiting[u]) > 0 {
			due := l.spent.Add(l.interval)
			if due.After(now) {
				l.timer = time.AfterFunc(due.Sub(now), func() {
					l.mu.Lock()
					defer l.mu.Unlock()
					l.letThrough()
				})
				return
			}
			l.spent = due
			close(l.waiting[u][0])
			l.waiting[u] = l.waiting[u][1:]
		}
	}
}
