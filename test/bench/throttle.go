package main

import (
	"bytes"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
)

// throttle refuses a part of the calls as Compute does when there are too many,
// by the dice of one seed.
type throttle struct {
	mu   sync.Mutex
	dice *rand.Rand
}

// throttled is the part of the calls that a throttle refuses.
const throttled = 0.2

func newThrottle() *throttle { return &throttle{dice: rand.New(rand.NewPCG(1, 2))} }

const tooMany = `{"error":{"code":403,"message":"Rate Limit Exceeded","errors":[{"message":"Rate Limit Exceeded","domain":"usageLimits","reason":"rateLimitExceeded"}]}}`

// RoundTrip makes the call, or answers it.
func (t *throttle) RoundTrip(req *http.Request) (*http.Response, error) {
	t.mu.Lock()
	refused := t.dice.Float64() < throttled
	t.mu.Unlock()
	if !refused {
		return http.DefaultTransport.RoundTrip(req)
	}
	if req.Body != nil {
		req.Body.Close()
	}
	return &http.Response{
		StatusCode: http.StatusForbidden, Status: "403 Forbidden", Request: req, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader([]byte(tooMany))),
	}, nil
}
