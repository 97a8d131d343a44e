package transcript

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

// Recorder writes each call that it carries as one line of JSON. It is safe for concurrent use.
type Recorder struct {
	next  http.RoundTripper
	clean scrubber
	begun time.Time

	mu  sync.Mutex
	out *json.Encoder
	err error
}

// NewRecorder writes the header and returns a recorder of calls sent through next. The header must
// not contain confidential data, because NewRecorder writes it unchanged.
func NewRecorder(out io.Writer, h Header, project string, next http.RoundTripper) (*Recorder, error) {
	h.Version = Version
	r := &Recorder{next: next, clean: newScrubber(project), begun: h.Begun, out: json.NewEncoder(out)}
	r.out.SetEscapeHTML(false)
	if err := r.out.Encode(h); err != nil {
		return nil, fmt.Errorf("write transcript: %w", err)
	}
	return r, nil
}

// Err returns why the transcript is incomplete; nil if it is complete.
func (r *Recorder) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// RoundTrip makes a call and records it. If recording fails, the call is made all the same.
func (r *Recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := take(&req.Body)
	if err != nil {
		return nil, err
	}
	e := Exchange{
		At: time.Since(r.begun).Seconds(), Verb: req.Method, Path: r.clean.text(req.URL.Path),
		Query: r.clean.text(req.URL.RawQuery), Body: r.clean.json(body),
	}
	resp, err := r.next.RoundTrip(req)
	if err == nil {
		var answer []byte
		if answer, err = take(&resp.Body); err == nil {
			e.Status, e.Answer = resp.StatusCode, r.clean.json(answer)
		}
	}
	if err != nil {
		e.Error = r.clean.text(err.Error())
		resp = nil
	}
	r.write(e)
	return resp, err
}

func (r *Recorder) write(e Exchange) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.out.Encode(e); err != nil && r.err == nil {
		r.err = fmt.Errorf("write transcript: %w", err)
	}
}

// take reads a body to its end and replaces it with a copy of its bytes.
func take(body *io.ReadCloser) ([]byte, error) {
	if *body == nil || *body == http.NoBody {
		return nil, nil
	}
	b, err := io.ReadAll(*body)
	_ = (*body).Close() // the body was read completely
	*body = io.NopCloser(bytes.NewReader(b))
	return b, err
}
