package gce

import (
	"context"
	"net/http"
	"path"
	"slices"
	"sync"
	"time"
)

// urgency orders the calls that wait for the rate limit: first calls that reduce cost, then calls
// that a job waits for, then calls that only read.
type urgency int

const (
	toEnd urgency = iota
	toCreate
	toLook
	urgencies
)

// urgencyOf returns the urgency of a call.
func urgencyOf(req *http.Request) urgency {
	verb := path.Base(req.URL.Path)
	switch {
	case req.Method == http.MethodDelete, verb == "cancel", verb == "deleteInstances":
		return toEnd
	case req.Method == http.MethodGet, verb == "listManagedInstances", isWait(req):
		return toLook
	}
	return toCreate
}

// isWait reports whether the call is an operations.wait.
func isWait(req *http.Request) bool { return path.Base(req.URL.Path) == "wait" }

// limiter lets calls through at a rate, or in a burst after a pause. The most urgent calls are sent
// first; calls of equal urgency are sent in order of arrival.
type limiter struct {
	interval time.Duration // between calls
	burst    int

	mu      sync.Mutex
	spent   time.Time // due time, at the rate, of the last call let through
	waiting [urgencies][]chan struct{}
	timer   *time.Timer // lets the next call through; nil if no call waits
}

func newLimiter(perSecond float64, burst int) *limiter {
	return &limiter{interval: time.Duration(float64(time.Second) / perSecond), burst: burst}
}

// wait returns when the call may be sent, or with ctx's error.
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

// letThrough lets as many calls through as the rate allows now and sets the timer for the next. The
// caller holds the lock.
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
