package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"slurmflex/flex/wake"
)

// The intervals between visits, in real time.
const (
	wakeUpPace = 100 * time.Millisecond
	pagePace   = 250 * time.Millisecond
	rudePace   = 200 * time.Millisecond
)

// visitors call the daemon: hooks that send wake-ups, users and Prometheus that read its pages, and
// clients that hang up halfway.
type visitors struct {
	socket string // of the daemon
	page   string // host:port
	client http.Client
	coming sync.WaitGroup
	stop   context.CancelFunc
}

// letIn makes visitors call the daemon until sendAway. Their answers are ignored: the daemon may be
// busy or not started yet.
func letIn(ctx context.Context, w *world) *visitors {
	v := &visitors{
		socket: wake.SocketPath(w.path("run")), page: w.page,
		client: http.Client{Transport: &http.Transport{}, Timeout: 10 * time.Second},
	}
	ctx, v.stop = context.WithCancel(ctx)
	v.each(ctx, wakeUpPace, func(int) { _ = wake.Send(ctx, v.socket, wake.Call{Verb: "resume"}) })
	pages := []string{"/", "/status.json", "/metrics", "/healthz", "/why?of=alpha-gang-0", "/style.css"}
	v.each(ctx, pagePace, func(n int) { v.look(ctx, pages[n%len(pages)]) })
	v.each(ctx, rudePace, func(n int) { v.hangUp(ctx, n) })
	return v
}

// each calls a function repeatedly at a pace, with the number of calls so far.
func (v *visitors) each(ctx context.Context, pace time.Duration, do func(n int)) {
	v.coming.Go(func() {
		for n := 0; ; n++ {
			select {
			case <-ctx.Done():
				return
			case <-time.After(pace):
				do(n)
			}
		}
	})
}

// sendAway ends the visits and closes all their connections.
func (v *visitors) sendAway() {
	v.stop()
	v.coming.Wait()
	v.client.CloseIdleConnections()
}

// look reads a page.
func (v *visitors) look(ctx context.Context, page string) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+v.page+page, nil)
	if err != nil {
		return
	}
	resp, err := v.client.Do(req)
	if err != nil {
		return
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
}

// hangUp sends an incomplete message and hangs up.
func (v *visitors) hangUp(ctx context.Context, n int) {
	texts := []string{"", "GET / HTTP/1.1\r\nHost: local", "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n", "\x16\x03\x01"}
	network, address, text := "tcp", v.page, texts[n/2%len(texts)]
	if n%2 == 0 {
		network, address, text = "unix", v.socket, []string{"", `{"verb":`, "{}", "\x00"}[n/2%4]
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err != nil {
		return
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, text)
}
