package trial

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
)

// again carries calls to Compute. arm makes it send the next creating call twice: Compute must
// answer both calls with the same operation, because they have the same requestId. It is safe for
// concurrent use.
type again struct {
	next http.RoundTripper

	mu    sync.Mutex
	armed bool
	names [2]string
}

// arm makes again send the next creating call twice.
func (a *again) arm() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.armed, a.names = true, [2]string{}
}

// operations returns the names of the operations in the two answers, with "" for an answer without
// an operation.
func (a *again) operations() [2]string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.names
}

func (a *again) take(r *http.Request) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	was := a.armed && r.Method == http.MethodPost && !strings.HasSuffix(r.URL.Path, "/wait")
	if was {
		a.armed = false
	}
	return was
}

// RoundTrip makes a call. If the call is sent twice, the caller gets the first answer.
func (a *again) RoundTrip(r *http.Request) (*http.Response, error) {
	if !a.take(r) {
		return a.next.RoundTrip(r)
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
		_ = second.Body.Close() // the answer is in memory
	}
	return first, nil
}

// send makes the call and records the operation in its n-th answer.
func (a *again) send(r *http.Request, body []byte, n int) (*http.Response, error) {
	out := r.Clone(r.Context())
	out.Body = io.NopCloser(bytes.NewReader(body))
	resp, err := a.next.RoundTrip(out)
	if err != nil {
		return nil, err
	}
	answer, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close() // the body was read completely
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
