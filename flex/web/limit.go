package web

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"
)

// roomCheck is how often a waiting connection checks whether another one has closed or fallen silent.
const roomCheck = 100 * time.Millisecond

// stuckAfter is how long an answer may take while other clients wait for the connection's slot. A
// client that does not read its answer would otherwise keep the slot until writeLimit.
const stuckAfter = 5 * time.Second

// limited is a listener with a limited number of connections at a time. A new connection replaces
// the connection that has been silent the longest. A connection is silent if it has sent no request
// yet, has received its answer, or has not received it within stuckAfter.
type limited struct {
	net.Listener
	most   int
	closed chan struct{}
	close  func() error

	mu     sync.Mutex
	silent map[*limitedConn]time.Time // open connections, and since when each is silent; in the future for one that is being answered
}

func limit(l net.Listener, most int) *limited {
	closed := make(chan struct{})
	return &limited{
		Listener: l, most: most, closed: closed, silent: map[*limitedConn]time.Time{},
		close: sync.OnceValue(func() error { close(closed); return l.Close() }),
	}
}

// Accept waits for a connection, and then for a slot if all other connections are being answered.
func (l *limited) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c, again := &limitedConn{conn, l}, time.NewTicker(roomCheck)
	defer again.Stop()
	for !l.enter(c) {
		select {
		case <-l.closed:
			conn.Close()
			return nil, net.ErrClosed
		case <-again.C:
		}
	}
	return c, nil
}

// enter assigns a slot to a connection: a free one, or that of the connection that has been silent
// the longest, which it closes. It reports false if all others are being answered.
func (l *limited) enter(c *limitedConn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.silent) == l.most {
		var longest *limitedConn
		oldest := time.Now()
		for other, since := range l.silent {
			if !since.After(oldest) {
				longest, oldest = other, since
			}
		}
		if longest == nil {
			return false
		}
		delete(l.silent, longest)
		longest.Conn.Close()
	}
	l.silent[c] = time.Now()
	return true
}

// Close also ends Accept.
func (l *limited) Close() error { return l.close() }

// limitedConn is a connection of a limited listener.
type limitedConn struct {
	net.Conn
	of *limited
}

// Close frees the connection's slot.
func (c *limitedConn) Close() error {
	c.of.mu.Lock()
	delete(c.of.silent, c)
	c.of.mu.Unlock()
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
