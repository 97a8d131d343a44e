package fakegce

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync"
	"time"
)

// maxBody is the maximum number of bytes read from a request's body.
const maxBody = 16 << 20

// maxWait is how long operations.wait waits, by the server's clock.
const maxWait = 2 * time.Minute

// reply is the answer to a request. With dropped set, the connection is cut without an answer.
type reply struct {
	status   int
	encoding string // Content-Encoding, if any
	body     []byte
	dropped  bool
}

// ServeHTTP answers API calls, and the control surface under /fake/. To drop a connection, it
// panics with http.ErrAbortHandler, as net/http requires.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer := s.serve(r)
	if answer.dropped {
		panic(http.ErrAbortHandler)
	}
	maps.Copy(w.Header(), s.header(answer))
	w.WriteHeader(answer.status)
	_, _ = w.Write(answer.body) // the client may have disconnected
}

// Transport reaches the server without a network. Requests are answered in the caller's
// goroutine and end when their context does.
func (s *Server) Transport() http.RoundTripper { return door{s} }

type door struct{ server *Server }

func (d door) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	answer := d.server.serve(r)
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	if answer.dropped {
		return nil, fmt.Errorf("fakegce: connection cut: %w", io.ErrUnexpectedEOF)
	}
	return &http.Response{
		Status:     fmt.Sprintf("%d %s", answer.status, http.StatusText(answer.status)),
		StatusCode: answer.status,
		Proto:      "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header:        d.server.header(answer),
		Body:          io.NopCloser(bytes.NewReader(answer.body)),
		ContentLength: int64(len(answer.body)),
		Request:       r,
	}, nil
}

// header returns the headers of every answer. The Date follows the server's clock.
func (s *Server) header(answer reply) http.Header {
	header := http.Header{
		"Content-Type": {"application/json; charset=UTF-8"},
		"Date":         {s.clock.Now().UTC().Format(http.TimeFormat)},
	}
	if answer.encoding != "" {
		header.Set("Content-Encoding", answer.encoding)
	}
	return header
}

// serve answers one request. It compresses the answer if the client accepts gzip and its
// User-Agent contains the word gzip. Source: Compute's documentation "Improving performance",
// Using gzip.
func (s *Server) serve(r *http.Request) reply {
	answer := s.respond(r)
	if len(answer.body) > 0 && strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") && strings.Contains(r.UserAgent(), "gzip") {
		answer.body, answer.encoding = compress(answer.body), "gzip"
	}
	return answer
}

// compressors pools writers, because a new one allocates a megabyte.
var compressors = sync.Pool{New: func() any { return gzip.NewWriter(nil) }}

func compress(body []byte) []byte {
	var packed bytes.Buffer
	w := compressors.Get().(*gzip.Writer)
	defer compressors.Put(w)
	w.Reset(&packed)
	_, _ = w.Write(body) // a bytes.Buffer never fails
	_ = w.Close()
	return packed.Bytes()
}

// respond answers one request without compression.
func (s *Server) respond(r *http.Request) reply {
	body, err := readBody(r)
	if err != nil {
		return refuse(badRequest("Invalid request. Its body is cut off, or too large."))
	}
	switch {
	case strings.HasPrefix(r.URL.Path, controlPrefix):
		return s.control(r, body)
	case r.URL.Path == tokenPath:
		return s.giveToken(r, body)
	}
	return s.call(r, body)
}

// call answers one API call.
func (s *Server) call(r *http.Request, body []byte) reply {
	c, err := s.newCall(r, body)
	entry := s.record(r, c, body)
	answer := refuse(err)
	if err == nil {
		err = s.authorize(r)
		answer = refuse(err)
	}
	if err == nil {
		answer = c.trim(s.answer(r.Context(), c))
	}
	s.do(func() { entry.Status = answer.status })
	return answer
}

// trim reduces an answer to the call's fields selection.
func (c *call) trim(answer reply) reply {
	if answer.status == http.StatusOK && c.fields != nil {
		var left bytes.Buffer
		c.fields.keep(&left, answer.body)
		answer.body = left.Bytes()
	}
	return answer
}

func readBody(r *http.Request) ([]byte, error) {
	if r.Body == nil {
		return nil, nil
	}
	defer r.Body.Close()
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	if err == nil && len(body) > maxBody {
		err = fmt.Errorf("longer than %d bytes", maxBody)
	}
	return body, err
}

// answer runs a call, together with the fault that strikes it, if any.
func (s *Server) answer(ctx context.Context, c *call) reply {
	s.do(func() { c.fault = s.strike(c) })
	if s.sleep(ctx, c.fault.Delay, nil) != nil || c.fault.Drop {
		return reply{dropped: true}
	}
	if c.fault.Status != 0 {
		return refuse(c.fault.refusal())
	}
	answer := s.act(c)
	if strings.HasSuffix(c.route.method, ".wait") && answer.status == http.StatusOK {
		answer = s.await(ctx, c)
	}
	if c.fault.DropAfter {
		return reply{dropped: true}
	}
	return answer
}

// act runs the call's method in one instant.
func (s *Server) act(c *call) (answer reply) {
	s.do(func() { answer = replyTo(s.result(c)) })
	return answer
}

// result returns what the call's method returns, or the operation of an earlier call with the
// same requestId.
func (s *Server) result(c *call) (any, error) {
	if err := cmp.Or(s.check(c), s.buried(c)); err != nil {
		return nil, err
	}
	if op := s.repeat(c); op != nil {
		return op.body(), nil
	}
	if err := s.admitOperation(c); err != nil {
		return nil, err
	}
	return c.route.handle(s, c)
}

// await answers operations.wait when the operation is done, or after maxWait.
func (s *Server) await(ctx context.Context, c *call) (answer reply) {
	var done chan struct{}
	s.do(func() {
		if op, ok := s.operations.get(s.path(c.at, "operations", c.name())); ok {
			done = op.done
		}
	})
	if s.sleep(ctx, maxWait, done) != nil {
		return reply{dropped: true}
	}
	s.do(func() { answer = replyTo(s.getOperation(c)) })
	return answer
}

// sleep waits for d by the server's clock. It ends sooner if early is closed or ctx ends.
func (s *Server) sleep(ctx context.Context, d time.Duration, early <-chan struct{}) error {
	if d <= 0 {
		return nil
	}
	over := make(chan struct{})
	s.do(func() { s.after(d, func() { close(over) }) })
	select {
	case <-over:
	case <-early:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

func encode(v any) reply {
	b, err := json.Marshal(v)
	if err != nil {
		return refuse(fmt.Errorf("encode the answer: %w", err))
	}
	return reply{status: http.StatusOK, body: b}
}

// replyTo returns the reply that carries result, or err if it is not nil.
func replyTo(result any, err error) reply {
	if err != nil {
		return refuse(err)
	}
	return encode(result)
}

// refuse returns the reply that carries err; for nil, the zero reply.
func refuse(err error) reply {
	if err == nil {
		return reply{}
	}
	var r *refusal
	if !errors.As(err, &r) {
		r = &refusal{Status: http.StatusInternalServerError, Reason: "backendError", Message: "Internal error. Please try again."}
	}
	return reply{status: r.Status, body: r.body()}
}
