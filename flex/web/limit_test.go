package web

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// callers is a listener whose connections are pipes.
type callers struct {
	calls    chan net.Conn
	accepted atomic.Int32
	close    func()
}

func newCallers() *callers {
	c := &callers{calls: make(chan net.Conn)}
	c.close = sync.OnceFunc(func() { close(c.calls) })
	return c
}

func (c *callers) Accept() (net.Conn, error) {
	conn, ok := <-c.calls
	if !ok {
		return nil, net.ErrClosed
	}
	c.accepted.Add(1)
	return conn, nil
}

func (c *callers) Close() error   { c.close(); return nil }
func (c *callers) Addr() net.Addr { return &net.TCPAddr{} }

// call is the caller's end of a connection, which is there even before somebody
// accepts it.
func (c *callers) call(t *testing.T) net.Conn {
	t.Helper()
	ours, theirs := net.Pipe()
	go func() { c.calls <- theirs }()
	t.Cleanup(func() { ours.Close() })
	return ours
}

// C11: a client that opens connections and says nothing takes no more files of the
// daemon than its limit, and others are answered once it is hung up on.
func TestThePageHasALimitedNumberOfConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		c := newCallers()
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { _ = w.serve(ctx, c); close(ended) }()
		for range connections {
			c.call(t)
		}
		synctest.Wait()
		require.EqualValues(t, connections, c.accepted.Load())

		late := c.call(t)
		synctest.Wait()
		assert.EqualValues(t, connections, c.accepted.Load(), "it waits")
		time.Sleep(readLimit + time.Second)
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/healthz", nil)
		require.NoError(t, err)
		require.NoError(t, r.Write(late))
		answer, err := http.ReadResponse(bufio.NewReader(late), r)
		require.NoError(t, err)
		assert.Equal(t, http.StatusOK, answer.StatusCode)
		require.NoError(t, answer.Body.Close())
		stop()
		<-ended
	})
}

// D5: connections that stay open after an answer leave slots for others.
func TestIdleConnectionsLeaveSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		c := newCallers()
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { _ = w.serve(ctx, c); close(ended) }()
		begun := time.Now()
		ask := func(conn net.Conn) (closes bool) {
			r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/healthz", nil)
			require.NoError(t, err)
			require.NoError(t, r.Write(conn))
			answer, err := http.ReadResponse(bufio.NewReader(conn), r)
			require.NoError(t, err)
			assert.Equal(t, http.StatusOK, answer.StatusCode)
			require.NoError(t, answer.Body.Close())
			return answer.Close
		}
		assert.False(t, ask(c.call(t)), "a lone client keeps its connection")
		for range 2 * connections {
			ask(c.call(t))
		}
		assert.Less(t, time.Since(begun), time.Second, "nobody waits for others to go idle")
		assert.True(t, ask(c.call(t)), "while slots are short")
		stop()
		<-ended
	})
}

// C11: a full server can still be stopped.
func TestAListenerWithoutAFreeSlotCanBeClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCallers()
		l := limit(c, 1)
		c.call(t)
		conn, err := l.Accept()
		require.NoError(t, err)
		failed := make(chan error)
		go func() { _, err := l.Accept(); failed <- err }()
		synctest.Wait()
		require.NoError(t, l.Close())
		require.ErrorIs(t, <-failed, net.ErrClosed)
		require.NoError(t, l.Close(), "twice")
		require.NoError(t, conn.Close())
	})
}
