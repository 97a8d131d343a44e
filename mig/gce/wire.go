package gce

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"google.golang.org/api/googleapi"

	"slurmflex/mig"
)

const (
	maxAttempts   = 6
	firstPause    = 500 * time.Millisecond // longest pause after the first attempt; doubles with each attempt
	longestPause  = 60 * time.Second       // a longer Retry-After ends the call
	answerTime    = 30 * time.Second       // for one attempt
	waitTime      = 150 * time.Second      // for one attempt of operations.wait; Compute answers within 120 s
	answerLimit   = 16 << 20               // bytes: 150 resize requests for 1,000 instances each fit
	metadataLimit = 64 << 20               // bytes of a list with metadata: room for 500 startup scripts of 64 KiB
	likelyLimit   = 1 << 20                // bytes to allocate in advance if the last answer was that long
	unnamedMethod = "unknown"
)

// methodKey is the context key for the API's name of the called method, for metrics and the log.
type methodKey struct{}

func calling(ctx context.Context, method string) context.Context {
	return context.WithValue(ctx, methodKey{}, method)
}

// onceKey is the context key that limits a call to one attempt, unless Compute rejects the call
// because there are too many calls, or because of its access token.
type onceKey struct{}

func tryingOnce(ctx context.Context) context.Context {
	return context.WithValue(ctx, onceKey{}, true)
}

func methodOf(ctx context.Context) string {
	if m, ok := ctx.Value(methodKey{}).(string); ok {
		return m
	}
	return unnamedMethod
}

// wire sends calls to the API within the rate limit, bounds each attempt in time, and retries with
// growing pauses while the answer is a transient fault. Every call can be repeated: reads change
// nothing, and each mutation has a requestId, so that Compute acts on it once.
//
// It returns only complete answers: the whole body, and a JSON object if the call succeeded. Any other
// answer is a failed attempt.
type wire struct {
	next    http.RoundTripper
	agent   string // the User-Agent
	limiter *limiter
	waits   *limiter // for operations.wait, which Compute counts separately
	log     *zap.Logger
	jitter  func(most time.Duration) time.Duration
	observe func(method string, status int, took time.Duration)
	date    *atomic.Int64 // stores the time of the last answer, in epoch seconds
	lengths sync.Map      // of each method's last answer, to predict the next length
	answers atomic.Int64  // number of answered calls
}

func newWire(o Options, next http.RoundTripper, date *atomic.Int64) *wire {
	w := &wire{next: next, agent: o.userAgent(), date: date, limiter: o.limiter(), waits: o.limiter(), log: o.log(), jitter: o.Jitter, observe: o.Observe}
	if w.jitter == nil {
		w.jitter = rand.N[time.Duration]
	}
	if w.observe == nil {
		w.observe = func(string, int, time.Duration) {}
	}
	return w
}

// RoundTrip makes a call. The request's body must have a GetBody, as the bodies of Google's client
// do.
func (w *wire) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, limiter := req.Context(), w.limiter
	if isWait(req) {
		limiter = w.waits
	}
	for n := 1; ; n++ {
		if err := limiter.wait(ctx, urgencyOf(req)); err != nil {
			return nil, fmt.Errorf("waiting for the rate limit: %w", err)
		}
		before := w.answers.Load()
		resp, err := w.attempt(req)
		pause, again := w.nextPause(n, resp, err)
		if again && n > 1 && err != nil && errors.Is(err, context.DeadlineExceeded) && onlyLooks(req) {
			again = w.answers.Load() > before // otherwise Compute is silent: the pass continues
		}
		if ctx.Value(onceKey{}) != nil && !turnedAway(resp) {
			again = false
		}
		if !again || ctx.Err() != nil || !sleep(ctx, pause) {
			if err != nil && n > 1 {
				err = fmt.Errorf("%w (after %d attempts)", err, n)
			}
			return resp, err
		}
	}
}

// attempt sends the request once and reports it.
func (w *wire) attempt(req *http.Request) (*http.Response, error) {
	method, start := methodOf(req.Context()), time.Now()
	resp, err := w.exchange(req)
	took, status := time.Since(start), 0
	if resp != nil {
		status = resp.StatusCode
	}
	w.observe(method, status, took)
	w.log.Debug("compute", zap.String("method", method), zap.String("path", req.URL.Path),
		zap.Int("status", status), zap.Duration("took", took), zap.Error(err))
	return resp, err
}

// exchange sends the request and reads the whole answer within an attempt's time limit.
func (w *wire) exchange(req *http.Request) (*http.Response, error) {
	limit := answerTime
	if isWait(req) {
		limit = waitTime
	}
	ctx, cancel := context.WithTimeout(req.Context(), limit)
	defer cancel()
	out, err := w.copyOf(ctx, req)
	if err != nil {
		return nil, err
	}
	resp, err := w.next.RoundTrip(out)
	if err == nil {
		method := methodOf(ctx)
		last, _ := w.lengths.Load(method)
		likely, _ := last.(int64) // 0 before the first answer
		err = w.readWhole(resp, min(likely, likelyLimit), limitOf(req))
		w.lengths.Store(method, resp.ContentLength)
	}
	if err != nil {
		if ctx.Err() != nil && req.Context().Err() == nil {
			return nil, fmt.Errorf("no answer within %s: %w", limit, err)
		}
		return nil, err
	}
	w.answers.Add(1)
	if date, err := http.ParseTime(resp.Header.Get("Date")); err == nil && resp.StatusCode/100 == 2 {
		w.date.Store(date.Unix())
	}
	return resp, nil
}

// onlyLooks reports whether a pass makes this call before it plans.
func onlyLooks(req *http.Request) bool { return urgencyOf(req) == toLook && !isWait(req) }

// limitOf returns the maximum length of the call's answer, in bytes.
func limitOf(req *http.Request) int {
	if strings.Contains(req.URL.Query().Get("fields"), "metadata") {
		return metadataLimit
	}
	return answerLimit
}

// copyOf returns a copy of the request with a fresh body, to be sent under ctx.
func (w *wire) copyOf(ctx context.Context, req *http.Request) (*http.Request, error) {
	out := req.Clone(ctx)
	out.Header.Set("User-Agent", w.agent)
	if req.GetBody != nil {
		body, err := req.GetBody()
		if err != nil {
			return nil, err
		}
		out.Body = body
	}
	return out, nil
}

// whole is a body in memory.
type whole struct {
	*bytes.Reader
	text []byte
}

func (whole) Close() error { return nil }

func wholeOf(text []byte) whole { return whole{bytes.NewReader(text), text} }

// readWhole reads an answer like readBody and rejects a successful answer that is not a JSON object.
func (w *wire) readWhole(resp *http.Response, likely int64, limit int) error {
	if err := readBody(resp, likely, limit); err != nil {
		return err
	}
	if body := resp.Body.(whole).text; resp.StatusCode/100 == 2 && !isObject(body) {
		return fmt.Errorf("answer is not JSON: %q", excerpt(body))
	}
	return nil
}

// isObject reports whether the text is a JSON object, as every answer of Compute is.
func isObject(text []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte("{")) && json.Valid(text)
}

// readBody replaces the answer's body by its bytes in memory, limit at most. It allocates likely
// bytes in advance unless the answer declares its length.
func readBody(resp *http.Response, likely int64, limit int) error {
	defer resp.Body.Close()
	var text bytes.Buffer
	if n := cmp.Or(max(0, resp.ContentLength), likely); n > 0 && n <= int64(limit) {
		text.Grow(int(n) + bytes.MinRead) // ReadFrom needs free space to detect the end
	}
	_, err := text.ReadFrom(io.LimitReader(resp.Body, int64(limit)+1))
	body := text.Bytes()
	switch {
	case err != nil:
		return fmt.Errorf("answer broken off: %w", err)
	case len(body) > limit:
		return fmt.Errorf("answer longer than %d bytes", limit)
	}
	resp.Body, resp.ContentLength = wholeOf(body), int64(len(body))
	return nil
}

// nextPause reports whether to retry after the n-th attempt, and after which pause: the jitter
// chooses below a bound that doubles, but no less than the answer's Retry-After.
func (w *wire) nextPause(n int, resp *http.Response, err error) (time.Duration, bool) {
	if n >= maxAttempts {
		return 0, false
	}
	pause := w.jitter(firstPause << (n - 1))
	if err != nil {
		return pause, !refused(err) && !errors.As(err, new(noTokenError))
	}
	if !passing(resp) {
		return 0, false
	}
	pause = max(pause, retryAfter(resp.Header.Get("Retry-After"), time.Now()))
	return pause, pause <= longestPause
}

// turnedAway reports whether Compute rejected the call because of too many calls or because of its
// access token. The answer must have passed through nextPause.
func turnedAway(resp *http.Response) bool {
	return resp != nil && slices.Contains([]int{http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests}, resp.StatusCode)
}

// passing reports whether the answer is a transient fault. The answer's body must be in memory.
func passing(resp *http.Response) bool {
	switch resp.StatusCode {
	case http.StatusUnauthorized, // tokens has dropped the access token
		http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusInternalServerError,
		http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	case http.StatusForbidden: // Compute's own status for too many calls
		body, err := io.ReadAll(resp.Body)
		resp.Body = wholeOf(body)
		var e *googleapi.Error
		return err == nil && errors.As(googleapi.CheckResponseWithBody(resp, body), &e) &&
			answerFault(e).cause(reading) == mig.CauseRate
	}
	return false
}

// retryAfter parses a Retry-After header, in seconds or as a date; 0 if it is neither.
func retryAfter(header string, now time.Time) time.Duration {
	if s, err := strconv.ParseUint(header, 10, 31); err == nil {
		return time.Duration(s) * time.Second
	}
	if at, err := http.ParseTime(header); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}

// sleep waits for d, or returns false as soon as ctx ends.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// defaultTransport returns Go's default transport with enough connections for a pass's parallel
// calls, and with pings that detect dead connections.
func defaultTransport() http.RoundTripper {
	t, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return http.DefaultTransport
	}
	t = t.Clone()
	t.MaxIdleConnsPerHost = t.MaxIdleConns
	t.HTTP2 = &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second}
	return t
}
