package web

import (
	"net"
	"net/http"
	"sync"
)

// limited is a listener with a limited number of connections at a time. Others
// wait until one of them is closed.
type limited struct {
	net.Listener
	slots  chan struct{}
	closed chan struct{}
	close  func() error
}

func limit(l net.Listener, most int) *limited {
	closed := make(chan struct{})
	return &limited{
		Listener: l, slots: make(chan struct{}, most), closed: closed,
		close: sync.OnceValue(func() error { close(closed); return l.Close() }),
	}
}

// Accept waits for a free slot, and then for a connection.
func (l *limited) Accept() (net.Conn, error) {
	select {
	case l.slots <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	conn, err := l.Listener.Accept()
	if err != nil {
		<-l.slots
		return nil, err
	}
	return &limitedConn{conn, sync.OnceFunc(func() { <-l.slots })}, nil
}

// freesSlots closes connections after their answer while more than half of the slots are taken,
// so that connections that clients keep open leave the other half to others.
func (l *limited) freesSlots(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if 2*len(l.slots) > cap(l.slots) {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}

// Close ends Accept too.
func (l *limited) Close() error { return l.close() }

type limitedConn struct {
	net.Conn
	free func()
}

// Close frees the connection's slot.
func (c *limitedConn) Close() error {
	defer c.free()
	return c.Conn.Close()
}
