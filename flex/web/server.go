// Package web is the daemon's HTTP server: a page, its data as JSON, answers to why, and health. It
// is read-only, so it does not authenticate. It listens on loopback unless configured differently.
package web

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"go.uber.org/zap"

	"slurmflex/flex/view"
)

// Server answers over HTTP.
type Server struct {
	Board   *Board
	Address string // host:port to listen on
	Log     *zap.Logger
	Now     func() time.Time
	Metrics http.Handler // handler of /metrics; nil: none

	again time.Duration // between attempts to listen; 0: listenAgain
}

// The limits of a connection. Clients only send short requests.
const (
	connections = 128 // at a time; a new one replaces a silent one
	readLimit   = 5 * time.Second
	writeLimit  = 30 * time.Second
	idleLimit   = 15 * time.Second
	headerLimit = 16 << 10 // bytes
)

// listenAgain is the time between attempts to listen.
const listenAgain = 5 * time.Second

// Run serves until ctx ends. If it cannot listen, it logs that once and retries, because nodes must
// not wait for the page.
func (s *Server) Run(ctx context.Context) {
	fails := false
	for ctx.Err() == nil {
		listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.Address)
		if err == nil {
			s.Log.Info("serving the page", zap.String("address", listener.Addr().String()))
			err = s.serve(ctx, listener)
			fails = false
		}
		if ctx.Err() != nil {
			return
		}
		if !fails {
			s.Log.Error("cannot listen on http_address; status page, /metrics and /healthz are unavailable",
				zap.String("http_address", s.Address), zap.Error(err))
		}
		fails = true
		select {
		case <-ctx.Done():
		case <-time.After(cmp.Or(s.again, listenAgain)):
		}
	}
}

func (s *Server) serve(ctx context.Context, listener net.Listener) error {
	limited := limit(listener, connections)
	server := &http.Server{
		Handler:           s.Handler(),
		ReadHeaderTimeout: readLimit, ReadTimeout: readLimit, WriteTimeout: writeLimit, IdleTimeout: idleLimit,
		MaxHeaderBytes: headerLimit,
		ErrorLog:       zap.NewStdLog(zap.NewNop()), // clients' mistakes do not matter
	}
	limited.watch(server)
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	return server.Serve(limited)
}

// Handler returns the handler of all requests.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	for path, handler := range s.routes() {
		mux.Handle(path, handler)
	}
	return s.guard(mux)
}

// routes maps paths to handlers.
func (s *Server) routes() map[string]http.Handler {
	all := map[string]http.Handler{
		"/{$}":             http.HandlerFunc(s.page),
		"/status.json":     http.HandlerFunc(s.status),
		"/why":             http.HandlerFunc(s.why),
		"/troubleshooting": http.HandlerFunc(s.troubleshooting),
		"/story.json":      http.HandlerFunc(s.story),
		"/healthz":         http.HandlerFunc(s.health),
	}
	for _, name := range []string{"style.css", "page.js", "icon.svg"} {
		all["/"+name] = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.ServeFileFS(w, r, assets, "assets/"+name) })
	}
	if s.Metrics != nil {
		all["/metrics"] = s.Metrics
	}
	return all
}

// policy lets a page load only the daemon's own content.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// guard allows only reads, and sends browsers the restrictions of the answer.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		switch {
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			h.Set("Allow", "GET, HEAD")
			http.Error(w, "slurmflex is read-only: use GET", http.StatusMethodNotAllowed)
		case !s.knows(r):
			http.Error(w, "use localhost or the IP address for this host", http.StatusMisdirectedRequest)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// knows reports whether a request over loopback uses a loopback name for this host. A web page with
// a DNS name that now points to 127.0.0.1 does not. Otherwise such a page could read the daemon's
// data in its visitors' browsers.
func (s *Server) knows(r *http.Request) bool {
	local, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	if ok && !local.IP.IsLoopback() {
		return true
	}
	host := hostOf(r.Host)
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback() || host != "" && strings.EqualFold(host, hostOf(s.Address))
}

// hostOf returns the host of host[:port], without the brackets of an IPv6 address.
func hostOf(address string) string {
	if host, _, err := net.SplitHostPort(address); err == nil {
		return host
	}
	return strings.Trim(address, "[]")
}

// view returns what the daemon shows. Before the first pass it answers with an error.
func (s *Server) view(w http.ResponseWriter) (view.View, bool) {
	v, err := s.Board.View()
	if err != nil {
		w.Header().Set("Retry-After", "5")
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return view.View{}, false
	}
	return v, true
}

func (s *Server) status(w http.ResponseWriter, _ *http.Request) {
	v, ok := s.view(w)
	if !ok {
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // fails only if the client is gone
}

func (s *Server) health(w http.ResponseWriter, _ *http.Request) {
	if err := s.Board.healthy(); err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = fmt.Fprintf(w, "ok, cluster %s\n", s.Board.cluster())
}
