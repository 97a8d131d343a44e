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

// stuckAfter is how long a client may leave its answer unread while other clients wait for its
// slot.
const stuckAfter = 2 * time.Second

// limited is a listener with a limited number of connections at a time. A new connection replaces
// the connection that has been silent the longest. A connection is silent if it has sent no request
// yet, has received its answer, or has read nothing of its answer for stuckAfter.
type limited struct {
	net.Listener
	slots  chan struct{}
	closed chan struct{}
	close  func() error

	mu   sync.Mutex
	open map[*limitedConn]bool
}

func limit(l net.Listener, most int) *limited {
	closed := make(chan struct{})
	return &limited{
		Listener: l, slots: make(chan struct{}, most), closed: closed, open: map[*limitedConn]bool{},
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
	c := &limitedConn{Conn: conn, of: l, silent: time.Now()}
	c.free = sync.OnceFunc(func() {
		l.mu.Lock()
		delete(l.open, c)
		l.mu.Unlock()
		<-l.slots
	})
	l.mu.Lock()
	l.open[c] = true
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
	var oldest time.Time
	for c := range l.open {
		since := c.silent
		if since.IsZero() && !c.sends.IsZero() && time.Since(c.sends) >= stuckAfter {
			since = c.sends
		}
		if !since.IsZero() && (longest == nil || since.Before(oldest)) {
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
	of   *limited
	free func()

	// The listener's mu guards these fields.
	silent time.Time // since when without a request to answer; zero: answering one
	sends  time.Time // since when waiting for its client to read; zero: not waiting
}

// Write sends a part of an answer. It waits while the client reads nothing.
func (c *limitedConn) Write(b []byte) (int, error) {
	c.noteSends(time.Now())
	defer c.noteSends(time.Time{})
	return c.Conn.Write(b)
}

func (c *limitedConn) noteSends(since time.Time) {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	c.sends = since
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
		l.note(r.Context().Value(connKey{}), time.Time{})
		next.ServeHTTP(w, r)
	})
}

func (l *limited) note(conn any, silent time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c, ok := conn.(*limitedConn); ok {
		c.silent = silent
	}
}
