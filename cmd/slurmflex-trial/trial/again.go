package trial

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"sync/atomic"
)

// again carries calls to Compute. Once armed, it sends the next creating call twice: Compute must
// answer both calls with the same operation, because they have the same requestId. Other calls may
// be under way.
type again struct {
	next  http.RoundTripper
	armed atomic.Bool
	names [2]string // of the operations in the two answers, with "" for an answer without an operation
}

// RoundTrip makes a call. If the call is sent twice, the caller gets the first answer.
func (a *again) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodPost || !a.armed.CompareAndSwap(true, false) {
		return a.next.RoundTrip(r)
	}
	body, err := take(&r.Body)
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
	answer, err := take(&resp.Body)
	if err != nil {
		return nil, err
	}
	var op struct{ Kind, Name string }
	if json.Unmarshal(answer, &op) == nil && op.Kind == "compute#operation" {
		a.names[n] = op.Name
	}
	return resp, nil
}
