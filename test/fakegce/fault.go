package fakegce

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path"
	"strings"
	"time"
)

// Fault is something that goes wrong with calls of a kind. The first fault
// that fits a call strikes it.
type Fault struct {
	// Method is which methods it strikes, as the discovery document names
	// them; "*" stands for any part: "*", "instances.aggregatedList",
	// "*ResizeRequests.*".
	Method string `json:"method"`
	Object string `json:"object"` // part of the path that it strikes; "" for all
	Times  int    `json:"times"`  // how often it strikes; 0 for ever
	Skip   int    `json:"skip"`   // how many calls it lets pass first

	Delay     time.Duration `json:"delay"`     // before the call is looked at
	Drop      bool          `json:"drop"`      // the connection is cut before the call acts
	DropAfter bool          `json:"dropAfter"` // the call acts, then the connection is cut
	Status    int           `json:"status"`    // the call is refused with this
	Reason    string        `json:"reason"`    // default by status
	Message   string        `json:"message"`   // default by status

	OperationError *Problem      `json:"operationError"` // the call's operation ends with this, and does nothing
	Lag            time.Duration `json:"lag"`            // a list shows what was there this long ago, as it was then or when the fault was armed; at most 10 min
	Unreachable    []string      `json:"unreachable"`    // regions or zones that a list does not reach
	Warning        string        `json:"warning"`        // a list carries a warning of this code, which is about all of it
	Doubled        bool          `json:"doubled"`        // a list gives its last page twice, under another token
	Endless        string        `json:"endless"`        // a list never ends: its page tokens are Alternating, or AlwaysNew
	Broken         *Broken       `json:"broken"`         // a list's records that are not as they should be
	Omitted        string        `json:"omitted"`        // a list leaves out what has this in its name
}

// Values of Fault.Endless.
const (
	Alternating = "alternating" // A, B, A, B, …
	AlwaysNew   = "new"
)

// Broken gives a field of the records whose name contains Name another value,
// null to take it away.
type Broken struct {
	Name  string `json:"name"` // "" for all
	Field string `json:"field"`
	Value any    `json:"value"`
}

// omits reports whether a list leaves a record out.
func (f Fault) omits(r resource) bool {
	return f.Omitted != "" && strings.Contains(r.about().name, f.Omitted)
}

// bodyOf is a record as a list shows it.
func (f Fault) bodyOf(r resource) any {
	b := f.Broken
	if b == nil || !strings.Contains(r.about().name, b.Name) {
		return r.body()
	}
	text, err := json.Marshal(r.body())
	if err != nil {
		return nil
	}
	var fields map[string]any
	if err := json.Unmarshal(text, &fields); err != nil {
		return nil
	}
	fields[b.Field] = b.Value
	return fields
}

// armedFault is a fault with what is left of it.
type armedFault struct {
	Fault
	passed, struck int
}

func (f Fault) check() error {
	switch {
	case f.Method == "":
		return fmt.Errorf("add fault: no method; say \"*\" for all")
	case f.Times < 0 || f.Skip < 0 || f.Delay < 0 || f.Lag < 0 || f.Lag > maxLag:
		return fmt.Errorf("add fault on %s: times, skip, delay and lag must not be negative, and lag at most %.0f minutes", f.Method, maxLag.Minutes())
	case f.Status != 0 && (f.Status < 400 || f.Status > 599):
		return fmt.Errorf("add fault on %s: status %d is not an error; use 400 to 599", f.Method, f.Status)
	}
	if f.Endless != "" && f.Endless != Alternating && f.Endless != AlwaysNew {
		return fmt.Errorf("add fault on %s: endless is %q; say %q or %q", f.Method, f.Endless, Alternating, AlwaysNew)
	}
	if _, err := path.Match(f.Method, ""); err != nil {
		return fmt.Errorf("add fault on %s: the method is not a pattern; \"*\" stands for any part", f.Method)
	}
	return nil
}

// AddFault arms a fault.
func (s *Server) AddFault(f Fault) error {
	if err := f.check(); err != nil {
		return err
	}
	s.do(func() { s.faults = append(s.faults, &armedFault{Fault: f}) })
	return nil
}

// ClearFaults disarms all faults.
func (s *Server) ClearFaults() { s.do(func() { s.faults = nil }) }

// strike is the fault that strikes a call, or the zero fault.
func (s *Server) strike(c *call) Fault {
	for _, f := range s.faults {
		fits, _ := path.Match(f.Method, c.route.method) // check has seen to the pattern
		if !fits || !strings.Contains(c.path, f.Object) || f.Times > 0 && f.struck == f.Times {
			continue
		}
		if f.passed < f.Skip {
			f.passed++
			continue
		}
		f.struck++
		return f.Fault
	}
	return Fault{}
}

// concurrency is the reason of the refusal for too many operations at once,
// which hides behind that for too many calls.
const concurrency = "CONCURRENT_OPERATIONS_QUOTA_EXCEEDED"

func (f Fault) refusal() *refusal {
	r := &refusal{Status: f.Status, Reason: f.Reason, Message: f.Message}
	if r.Reason == "" {
		reasons := map[int]string{
			400: "invalid", 401: "authError", 403: "forbidden", 404: "notFound", 409: "alreadyExists",
			412: "conditionNotMet", 429: "rateLimitExceeded", 500: "internalError", 502: "backendError", 503: "backendError",
		}
		if r.Reason = reasons[f.Status]; r.Reason == "" {
			r.Reason = "backendError"
		}
	}
	if r.Message == "" {
		r.Message = http.StatusText(f.Status)
	}
	if r.Reason == concurrency {
		r.Reason, r.Message = "rateLimitExceeded", "Rate Limit Exceeded"
		r.Details = []any{map[string]any{
			"@type":  "type.googleapis.com/google.rpc.ErrorInfo",
			"reason": concurrency, "domain": "compute.googleapis.com",
		}}
	}
	switch r.Reason {
	case "rateLimitExceeded":
		r.Domain = "usageLimits"
	case "conditionNotMet":
		r.Location, r.LocationType = "If-Match", "header"
	}
	return r
}

// FailRequest has a queued resize request fail for good.
func (s *Server) FailRequest(group, request, code, message string) error {
	err := fmt.Errorf("fail resize request %s/%s: there is no such request in state %s", group, request, stateAccepted)
	s.do(func() {
		for _, g := range s.groups.all() {
			if g.name != group {
				continue
			}
			if r, ok := g.requests.get(g.path + "/resizeRequests/" + request); ok && r.api.State == stateAccepted {
				err = nil
				s.fail(r, &Problem{Code: code, Message: message})
			}
		}
	})
	return err
}
