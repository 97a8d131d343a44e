package fakegce

import (
	"maps"
	"net/http"
	"time"
)

// Call is an API call as the fake received it.
type Call struct {
	Time   time.Time `json:"time"`
	Method string    `json:"method"` // as the discovery document names it; "" if it has none
	Verb   string    `json:"verb"`
	Path   string    `json:"path"`
	Query  string    `json:"query,omitempty"`
	Body   string    `json:"body,omitempty"`
	Status int       `json:"status"` // 0 until answered, and for a dropped call
}

// maxCalls is the maximum number of calls in the journal.
const maxCalls = 100_000

type journal struct {
	calls  []*Call
	counts map[string]int // by method
}

// record adds a call to the journal. A nil c marks a request that is not an API call.
func (s *Server) record(r *http.Request, c *call, body []byte) *Call {
	entry := &Call{Verb: r.Method, Path: r.URL.Path, Query: r.URL.RawQuery, Body: string(body)}
	if c != nil {
		entry.Method = c.route.method
	}
	s.do(func() {
		entry.Time = s.now
		if len(s.journal.calls) == maxCalls {
			s.journal.calls = append([]*Call(nil), s.journal.calls[maxCalls/2:]...)
		}
		s.journal.calls = append(s.journal.calls, entry)
		s.journal.counts[entry.Method]++
	})
	return entry
}

// Calls returns the journaled API calls, the oldest first.
func (s *Server) Calls() []Call {
	calls := []Call{}
	s.do(func() {
		for _, c := range s.journal.calls {
			calls = append(calls, *c)
		}
	})
	return calls
}

// Counts returns how often each method was called.
func (s *Server) Counts() map[string]int {
	var counts map[string]int
	s.do(func() { counts = maps.Clone(s.journal.counts) })
	return counts
}

// ResetCalls clears the journal and the counts.
func (s *Server) ResetCalls() {
	s.do(func() { s.journal = journal{counts: make(map[string]int)} })
}
