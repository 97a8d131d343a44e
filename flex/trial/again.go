package trial

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
)

// Again carries calls, and sends one of them a second time when it is armed: a repeat
// with the same requestId must be the same operation. It is safe for concurrent use.
type Again struct {
	Next http.RoundTripper

	mu    sync.Mutex
	armed bool
	names [2]string
}

// Arm has the next call that creates something sent twice.
func (a *Again) Arm() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.armed, a.names = true, [2]string{}
}

// Operations are the names of the operations in the two answers, empty where there
// was none.
func (a *Again) Operations() [2]string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.names
}

func (a *Again) take(r *http.Request) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	was := a.armed && r.Method == http.MethodPost && !strings.HasSuffix(r.URL.Path, "/wait")
	if was {
		a.armed = false
	}
	return was
}

// RoundTrip makes a call. Of one that is sent twice the caller gets the first answer.
func (a *Again) RoundTrip(r *http.Request) (*http.Response, error) {
	if !a.take(r) {
		return a.Next.RoundTrip(r)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	first, err := a.send(r, body, 0)
	if err != nil {
		return nil, err
	}
	if second, err := a.send(r, body, 1); err == nil {
		_ = second.Body.Close() // it is in memory
	}
	return first, nil
}

// send makes the call and notes the operation in its n-th answer.
func (a *Again) send(r *http.Request, body []byte, n int) (*http.Response, error) {
	out := r.Clone(r.Context())
	out.Body = io.NopCloser(bytes.NewReader(body))
	resp, err := a.Next.RoundTrip(out)
	if err != nil {
		return nil, err
	}
	answer, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close() // all of it was read
	resp.Body = io.NopCloser(bytes.NewReader(answer))
	if err != nil {
		return nil, err
	}
	var op struct{ Kind, Name string }
	if json.Unmarshal(answer, &op) == nil && op.Kind == "compute#operation" {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.names[n] = op.Name
	}
	return resp, nil
}
