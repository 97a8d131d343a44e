package gke

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// forgotten is after how many times of patience without a call its refusals are forgotten.
const forgotten = 10

// patient fails calls like an unavailable API server, while Kubernetes has refused them for less than
// patience: an API server that has just started refuses everything until it has read its roles.
type patient struct {
	next     http.RoundTripper
	patience time.Duration

	mu      sync.Mutex
	refused map[string]span // by method and path
}

// span is the time of the first and of the last of a call's refusals.
type span struct{ first, last time.Time }

// RoundTrip implements http.RoundTripper.
func (p *patient) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := p.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	call := r.Method + " " + r.URL.Path
	if resp.StatusCode != http.StatusForbidden && resp.StatusCode != http.StatusUnauthorized {
		p.mu.Lock()
		delete(p.refused, call)
		p.mu.Unlock()
		return resp, nil
	}
	body, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil {
		return nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	var status struct{ Message string }
	if p.lasts(call, time.Now()) || json.Unmarshal(body, &status) != nil || strings.Contains(status.Message, usedUp) {
		return resp, nil
	}
	return nil, fmt.Errorf("refused, by an API server that may just have started: %s", status.Message)
}

// lasts notes a refusal of a call, and reports whether the refusals have lasted for patience.
func (p *patient) lasts(call string, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	times := p.refused[call]
	if now.Sub(times.last) > forgotten*p.patience {
		times.first = now
	}
	times.last = now
	p.refused[call] = times
	return now.Sub(times.first) >= p.patience
}
