// Package replay removes the server's cost from a benchmark of its client.
package replay

import (
	"bytes"
	"io"
	"net/http"
	"sync"
)

// Transport answers each call with next's first answer to that method and URL. It ignores the
// bodies of the calls.
type Transport struct {
	next http.RoundTripper

	mu      sync.Mutex
	answers map[string]answer
}

type answer struct {
	status int
	header http.Header
	body   []byte
}

// Of returns a Transport with an empty memory.
func Of(next http.RoundTripper) *Transport {
	return &Transport{next: next, answers: map[string]answer{}}
}

// RoundTrip answers from memory, or calls next and stores the answer.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	key := req.Method + " " + req.URL.String()
	t.mu.Lock()
	a, known := t.answers[key]
	t.mu.Unlock()
	if !known {
		resp, err := t.next.RoundTrip(req)
		if err != nil {
			return nil, err
		}
		defer resp.Body.Close()
		a = answer{status: resp.StatusCode, header: resp.Header}
		if a.body, err = io.ReadAll(resp.Body); err != nil {
			return nil, err
		}
		t.mu.Lock()
		t.answers[key] = a
		t.mu.Unlock()
	}
	return &http.Response{
		StatusCode: a.status, Status: http.StatusText(a.status), Header: a.header.Clone(), Request: req,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Body: io.NopCloser(bytes.NewReader(a.body)), ContentLength: int64(len(a.body)),
	}, nil
}
