package fakegce

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path"
	"strings"
	"time"
)

// Fault makes calls fail or answer wrongly. Only the first fault that matches a call strikes
// it.
type Fault struct {
	// Method selects the methods that the fault strikes, by their names in the discovery
	// document. "*" matches any text: "*", "instances.aggregatedList", "*ResizeRequests.*".
	Method string `json:"method"`
	Object string `json:"object"` // part of the path that it strikes; "" for all
	Times  int    `json:"times"`  // number of calls to strike; 0 means all
	Skip   int    `json:"skip"`   // number of matching calls to let pass first

	Delay     time.Duration `json:"delay"`     // before the call is handled
	Drop      bool          `json:"drop"`      // cut the connection before the call takes effect
	DropAfter bool          `json:"dropAfter"` // cut the connection after the call takes effect
	Status    int           `json:"status"`    // refuse the call with this status
	Reason    string        `json:"reason"`    // default depends on Status
	Message   string        `json:"message"`   // default depends on Status

	OperationError *Problem      `json:"operationError"` // the call's operation fails with this and has no effect
	Lag            time.Duration `json:"lag"`            // lists show the state this long ago, or when the fault was armed if later; at most 10 min
	Unreachable    []string      `json:"unreachable"`    // regions or zones that lists do not reach
	Warning        string        `json:"warning"`        // lists carry a warning with this code about the whole list
	Doubled        bool          `json:"doubled"`        // lists return their last page twice, under another token
	Endless        string        `json:"endless"`        // lists never end: page tokens are Alternating or AlwaysNew
	Broken         *Broken       `json:"broken"`         // a corrupted field in a list's records
	Omitted        string        `json:"omitted"`        // lists omit records with this in their name
}

// Values of Fault.Endless.
const (
	Alternating = "alternating" // A, B, A, B, …
	AlwaysNew   = "new"
)

// Broken replaces a field in every record with Name in its name. A null value removes the
// field.
type Broken struct {
	Name  string `json:"name"` // "" for all
	Field string `json:"field"`
	Value any    `json:"value"`
}

// omits reports whether the fault hides a record from lists.
func (f Fault) omits(r resource) bool {
	return f.Omitted != "" && strings.Contains(r.about().name, f.Omitted)
}

// bodyOf returns a record as a list shows it under the fault.
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

// armedFault is a fault with its remaining counts.
type armedFault struct {
	Fault
	passed, struck int
}

func (f Fault) check() error {
	switch {
	case f.Method == "":
		return fmt.Errorf("add fault: no method; \"*\" stands for all")
	case f.Times < 0 || f.Skip < 0 || f.Delay < 0 || f.Lag < 0 || f.Lag > maxLag:
		return fmt.Errorf("add fault on %s: times, skip, delay and lag must not be negative, and lag at most %.0f minutes", f.Method, maxLag.Minutes())
	case f.Status != 0 && (f.Status < 400 || f.Status > 599):
		return fmt.Errorf("add fault on %s: status %d is not an error; use 400 to 599", f.Method, f.Status)
	}
	if f.Endless != "" && f.Endless != Alternating && f.Endless != AlwaysNew {
		return fmt.Errorf("add fault on %s: endless is %q; must be %q or %q", f.Method, f.Endless, Alternating, AlwaysNew)
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

// strike returns the fault that strikes a call, or the zero fault.
func (s *Server) strike(c *call) Fault {
	for _, f := range s.faults {
		fits, _ := path.Match(f.Method, c.route.method) // check has validated the pattern
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

// concurrency is the reason for refusing too many operations at once. The error itself reads like
// the one for too many calls; only its details name this reason.
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
	if r.Message == "" && r.Reason == "forbidden" {
		r.Message = "Permission denied on resource project."
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

// FailRequest makes a queued resize request fail permanently.
func (s *Server) FailRequest(group, request, code, message string) error {
	err := fmt.Errorf("fail resize request %s/%s: not found in state %s", group, request, stateAccepted)
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
