package web

import (
	"bufio"
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/test/must"
)

// callers is a listener with pipes as connections.
type callers struct {
	calls chan net.Conn
	close func()
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
	return conn, nil
}

func (c *callers) Close() error   { c.close(); return nil }
func (c *callers) Addr() net.Addr { return &net.TCPAddr{} }

// call returns the caller's end of a connection, even before the connection is accepted.
func (c *callers) call(t *testing.T) net.Conn {
	t.Helper()
	ours, theirs := net.Pipe()
	go func() { c.calls <- theirs }()
	t.Cleanup(func() { ours.Close() })
	return ours
}

// serving serves the page over pipes until the test ends.
func serving(t *testing.T) (*callers, func(net.Conn) error) {
	t.Helper()
	w, c := newWorld(), newCallers()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { _ = w.serve(ctx, c); close(ended) }()
	t.Cleanup(func() { stop(); <-ended })
	return c, func(conn net.Conn) error {
		r := must.Get(http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/healthz", nil))
		if err := r.Write(conn); err != nil {
			return err
		}
		answer, err := http.ReadResponse(bufio.NewReader(conn), r)
		if err != nil {
			return err
		}
		assert.Equal(t, http.StatusOK, answer.StatusCode)
		return answer.Body.Close()
	}
}

// C11, D5: clients that open connections and send nothing, or stop halfway, use no more of the
// daemon's files than its limit, and delay no other client.
func TestConnectionsAreLimited(t *testing.T) {
	for name, begins := range map[string]string{"says nothing": "", "stops halfway": "GET /healthz HTTP/1.1\r\nHost: local"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, ask := serving(t)
				var silent []net.Conn
				for range connections {
					conn := c.call(t)
					silent = append(silent, conn)
					if begins != "" {
						_, err := conn.Write([]byte(begins))
						require.NoError(t, err)
					}
					synctest.Wait()
					time.Sleep(time.Millisecond)
				}
				begun := time.Now()
				for range 3 {
					require.NoError(t, ask(c.call(t)))
				}
				assert.Less(t, time.Since(begun), roomCheck, "no client waits")
				open := 0
				for i, conn := range silent {
					err := conn.SetReadDeadline(time.Now().Add(time.Millisecond))
					if err == nil {
						_, err = conn.Read(make([]byte, 1))
					}
					if errors.Is(err, os.ErrDeadlineExceeded) {
						open++
					} else {
						assert.Less(t, i, 3, "the longest silent connections are closed")
					}
				}
				assert.Equal(t, connections-3, open)
			})
		})
	}
}

// D5: connections that stay open after an answer leave slots for others.
func TestIdleConnectionsLeaveSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, ask := serving(t)
		begun := time.Now()
		lone := c.call(t)
		require.NoError(t, ask(lone))
		require.NoError(t, ask(lone), "a single client keeps its connection")
		synctest.Wait()
		time.Sleep(time.Millisecond) // this connection is then silent longer than the others
		for range 2 * connections {
			require.NoError(t, ask(c.call(t)))
		}
		assert.Less(t, time.Since(begun), time.Second, "no client waits for others to go idle")
		assert.Error(t, ask(lone), "it was silent the longest")
	})
}

// D5: clients that do not read their answers hold their slots for seconds, not until writeLimit.
func TestUnreadAnswersLeaveSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, ask := serving(t)
		for range connections {
			_, err := c.call(t).Write([]byte("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"))
			require.NoError(t, err)
		}
		synctest.Wait()
		begun := time.Now()
		for range 3 {
			require.NoError(t, ask(c.call(t)))
		}
		assert.LessOrEqual(t, time.Since(begun), stuckAfter+roomCheck)
	})
}

// D5: a connection with an unfinished answer is not closed for others.
func TestAnsweredConnectionKeepsItsSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCallers()
		l := limit(c, 1)
		let := make(chan struct{})
		server := &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-let })}
		l.watch(server)
		ended := make(chan struct{})
		go func() { _ = server.Serve(l); close(ended) }()
		r := must.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost/", nil))
		first, second := c.call(t), make(chan net.Conn, 1)
		require.NoError(t, r.Write(first))
		synctest.Wait()
		conn := c.call(t)
		go func() { assert.NoError(t, r.Write(conn)); second <- conn }()
		time.Sleep(time.Second)
		close(let)
		for _, conn := range []net.Conn{first, conn} {
			answer, err := http.ReadResponse(bufio.NewReader(conn), r)
			require.NoError(t, err)
			assert.Equal(t, http.StatusOK, answer.StatusCode)
			require.NoError(t, answer.Body.Close())
		}
		<-second
		require.NoError(t, server.Close())
		<-ended
	})
}

// C11: a full server can still be stopped.
func TestFullListenerCanBeClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCallers()
		l := limit(c, 1)
		c.call(t)
		conn, err := l.Accept()
		require.NoError(t, err)
		l.note(conn, time.Now().Add(time.Hour))
		c.call(t)
		failed := make(chan error)
		go func() { _, err := l.Accept(); failed <- err }()
		synctest.Wait()
		require.NoError(t, l.Close())
		require.ErrorIs(t, <-failed, net.ErrClosed)
		require.NoError(t, l.Close(), "twice")
		require.NoError(t, conn.Close())
	})
}
