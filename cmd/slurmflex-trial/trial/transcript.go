package trial

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

// transcriptVersion is the version of the transcripts that this package writes.
const transcriptVersion = 1

// projectWord replaces every project name and number in a transcript.
const projectWord = "PROJECT"

// header is the first line of a transcript.
type header struct {
	Version   int       `json:"transcript"`
	Slurmflex string    `json:"slurmflex"` // version that recorded the transcript
	Begun     time.Time `json:"begun"`
	Region    string    `json:"region"`
	Machine   string    `json:"machine_type"`
}

// exchange is a call and its answer.
type exchange struct {
	At     float64         `json:"at"` // seconds since the start of the recording
	Verb   string          `json:"verb"`
	Path   string          `json:"path"`
	Query  string          `json:"query,omitempty"`
	Body   json.RawMessage `json:"body,omitempty"`
	Status int             `json:"status"` // 0: the call got no answer
	Answer json.RawMessage `json:"answer,omitempty"`
	Error  string          `json:"error,omitempty"` // why the call got no answer
}

// recorder writes each call that it carries, and its answer, as one line of JSON, without what must not
// appear in a bug report: headers, project names and numbers, addresses, accounts, metadata and labels.
// It is safe for concurrent use.
type recorder struct {
	next  http.RoundTripper
	clean scrubber
	begun time.Time

	mu  sync.Mutex
	out *json.Encoder
	err error
}

// newRecorder writes the header and returns a recorder of calls sent through next. The header must
// not contain confidential data, because newRecorder writes it unchanged.
func newRecorder(out io.Writer, h header, project string, next http.RoundTripper) (*recorder, error) {
	h.Version = transcriptVersion
	r := &recorder{next: next, clean: newScrubber(project), begun: h.Begun, out: json.NewEncoder(out)}
	r.out.SetEscapeHTML(false)
	if err := r.out.Encode(h); err != nil {
		return nil, fmt.Errorf("write transcript: %w", err)
	}
	return r, nil
}

// failed returns why the transcript is incomplete; nil if it is complete.
func (r *recorder) failed() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// RoundTrip makes a call and records it. If recording fails, the call is made all the same.
func (r *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := take(&req.Body)
	if err != nil {
		return nil, err
	}
	e := exchange{
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

func (r *recorder) write(e exchange) {
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
