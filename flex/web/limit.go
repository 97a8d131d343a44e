package web

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"
)

// roomCheck is how often a waiting connection checks whether another one has fallen silent.
const roomCheck = 100 * time.Millisecond

// stuckAfter is how long an answer may take while other clients wait for the connection's slot. A
// client that does not read its answer would otherwise keep the slot until writeLimit.
const stuckAfter = 5 * time.Second

// limited is a listener with a limited number of connections at a time. A new connection replaces
// the connection that has been silent the longest. A connection is silent if it has sent no request
// yet, has received its answer, or has not received it within stuckAfter.
type limited struct {
	net.Listener
	slots  chan struct{}
	closed chan struct{}
	close  func() error

	mu     sync.Mutex
	silent map[*limitedConn]time.Time // since when each is silent; in the future for one that is being answered
}

func limit(l net.Listener, most int) *limited {
	closed := make(chan struct{})
	return &limited{
		Listener: l, slots: make(chan struct{}, most), closed: closed, silent: map[*limitedConn]time.Time{},
		close: sync.OnceValue(func() error { close(closed); return l.Close() }),
	}
}

// Accept waits for a connection, and then for a slot if all other connections are being answered.
func (l *limited) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	if !l.takeSlot() {
		conn.Close()
		return nil, net.ErrClosed
	}
	c := &limitedConn{Conn: conn}
	c.free = sync.OnceFunc(func() {
		l.mu.Lock()
		delete(l.silent, c)
		l.mu.Unlock()
		<-l.slots
	})
	l.mu.Lock()
	l.silent[c] = time.Now()
	l.mu.Unlock()
	return c, nil
}

// takeSlot returns false if the listener was closed.
func (l *limited) takeSlot() bool {
	again := time.NewTicker(roomCheck)
	defer again.Stop()
	for {
		if len(l.slots) == cap(l.slots) {
			l.closeSilent()
		}
		select {
		case l.slots <- struct{}{}:
			return true
		case <-l.closed:
			return false
		case <-again.C:
		}
	}
}

// closeSilent closes the connection that has been silent the longest, if any is silent.
func (l *limited) closeSilent() {
	l.mu.Lock()
	var longest *limitedConn
	oldest := time.Now()
	for c, since := range l.silent {
		if !since.After(oldest) {
			longest, oldest = c, since
		}
	}
	l.mu.Unlock()
	if longest != nil {
		longest.Close()
	}
}

// Close also ends Accept.
func (l *limited) Close() error { return l.close() }

// limitedConn is a connection of a limited listener.
type limitedConn struct {
	net.Conn
	free func()
}

// Close frees the connection's slot.
func (c *limitedConn) Close() error {
	defer c.free()
	return c.Conn.Close()
}

// connKey is the context key for a request's connection.
type connKey struct{}

// watch makes a server record which connections are being answered.
func (l *limited) watch(s *http.Server) {
	s.ConnContext = func(ctx context.Context, conn net.Conn) context.Context {
		return context.WithValue(ctx, connKey{}, conn)
	}
	s.ConnState = func(conn net.Conn, state http.ConnState) {
		if state == http.StateIdle { // the answer is sent
			l.note(conn, time.Now())
		}
	}
	next := s.Handler
	s.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l.note(r.Context().Value(connKey{}), time.Now().Add(stuckAfter))
		next.ServeHTTP(w, r)
	})
}

// note records since when an open connection is silent.
func (l *limited) note(conn any, since time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c, ok := conn.(*limitedConn); ok && !l.silent[c].IsZero() {
		l.silent[c] = since
	}
}
