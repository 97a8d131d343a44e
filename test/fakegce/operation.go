package fakegce

import (
	"fmt"
	"hash/fnv"
	"net/http"
	"slices"
	"strings"
	"time"

	"google.golang.org/api/compute/v1"
)

// keepRecords is how long Compute keeps what is over: operations that are
// done, and resize requests in a final state.
const keepRecords = 14 * 24 * time.Hour

// operation is what every mutation returns at once and ends later.
type operation struct {
	meta
	api    *compute.Operation
	method string
	path   string // of the call that began it
	done   chan struct{}
	forced *Problem       // ends with this instead of taking effect
	undo   func(*Problem) // takes back what was done ahead, if it ends with an error
}

func (o *operation) body() any { return o.api }

// begin starts the operation of a call on a target.
func (s *Server) begin(c *call, target *meta) *operation {
	m := s.newMeta(c.at, "operations", "")
	m.name = operationName(m.id, s.now)
	m.path = s.path(c.at, "operations", m.name)
	op := &operation{
		meta: m, method: c.route.method, path: c.path,
		done: make(chan struct{}), forced: c.fault.OperationError, undo: func(*Problem) {},
	}
	op.api = &compute.Operation{
		Kind: "compute#operation", Id: m.id, Name: m.name, SelfLink: m.link(),
		OperationType: operationType(c.route.method), Status: "RUNNING",
		InsertTime: stamp(s.now), StartTime: stamp(s.now), CreationTimestamp: stamp(s.now),
		TargetId: target.id, TargetLink: target.link(),
		User:            "fake@" + s.opts.Project + ".iam.gserviceaccount.com",
		ForceSendFields: []string{"Progress"},
	}
	if c.at.zone != "" {
		op.api.Zone = s.placeLink(location{zone: c.at.zone})
	} else if c.at.region != "" {
		op.api.Region = s.placeLink(c.at)
	}
	if id := c.query.Get("requestId"); id != "" {
		s.repeats[id] = op
		op.api.ClientOperationId = id
	}
	s.operations.add(op)
	s.running[op.at.regionName()]++
	return op
}

// ConcurrentOperations is the quota of operations that run at once in a region
// and its zones, or globally.
const ConcurrentOperations = "CONCURRENT_OPERATIONS"

// admitOperation refuses a call that would begin one operation too many.
func (s *Server) admitOperation(c *call) error {
	region := c.at.regionName()
	limit := s.limit(quota{region, ConcurrentOperations})
	if !slices.Contains(c.route.query, once) || limit < 0 || float64(s.running[region]) < limit {
		return nil
	}
	return Fault{Status: http.StatusForbidden, Reason: concurrency}.refusal()
}

// later runs act when the operation has taken its time. act is to see that the
// operation ends; an operation that a fault has doomed ends without it.
func (s *Server) later(op *operation, act func()) {
	s.after(s.opts.OperationTime, func() {
		if op.forced != nil {
			s.finish(op, op.forced)
			return
		}
		act()
	})
}

// complete runs act when the operation has taken its time, and ends the
// operation with what it returns.
func (s *Server) complete(op *operation, act func() *Problem) {
	s.later(op, func() { s.finish(op, act()) })
}

// finish ends an operation, with an error unless p is nil.
func (s *Server) finish(op *operation, p *Problem) {
	if op.api.Status == "DONE" {
		return
	}
	op.api.Status, op.api.Progress, op.api.EndTime = "DONE", 100, stamp(s.now)
	s.running[op.at.regionName()]--
	if p != nil {
		op.api.Error = errorsOf[compute.OperationError](p)
		if !strings.Contains(op.method, "ResizeRequests.") || s.opts.Switches.RequestErrorStatus {
			op.api.HttpErrorStatusCode = int64(p.status())
			op.api.HttpErrorMessage = strings.ToUpper(http.StatusText(p.status()))
		}
		op.undo(p)
	}
	close(op.done)
	s.after(keepRecords, func() {
		s.operations.remove(op, s.now)
		delete(s.repeats, op.api.ClientOperationId)
	})
}

// refused is the answer to what a state forbids: err, or under the switch
// LateRefusals an operation that ends with it.
func (s *Server) refused(c *call, target *meta, err *refusal) (any, error) {
	if !s.opts.Switches.LateRefusals {
		return nil, err
	}
	op := s.begin(c, target)
	s.complete(op, func() *Problem { return problemOf(err) })
	return op.api, nil
}

// repeat is the operation that an earlier call with the same requestId began.
func (s *Server) repeat(c *call) *operation {
	op, ok := s.repeats[c.query.Get("requestId")]
	if !ok || op.method != c.route.method || op.path != c.path {
		return nil
	}
	return op
}

// operationName has the form of Google's: operation-<ms>-<13 hex>-<8>-<8>.
func operationName(id uint64, now time.Time) string {
	h := fnv.New64a()
	fmt.Fprint(h, id)
	sum := h.Sum64()
	return fmt.Sprintf("operation-%d-%013x-%08x-%08x", now.UnixMilli(), id&(1<<52-1), sum>>32, sum&(1<<32-1))
}

// operationType is the name that a method's operations have.
func operationType(method string) string {
	resource, verb, _ := strings.Cut(method, ".")
	switch resource {
	case "regionInstanceGroupManagerResizeRequests":
		return "compute." + method
	case "regionInstanceGroupManagers":
		return "compute.instanceGroupManagers." + verb
	}
	return verb
}

func (s *Server) getOperation(c *call) (any, error) {
	op, err := s.operations.find(s.path(c.at, "operations", c.name()))
	if err != nil {
		return nil, err
	}
	return op.api, nil
}

func (s *Server) listOperations(c *call) (any, error) {
	return s.list(c, "compute#operationList", s.operations.seen(s.now, c.fault.Lag, in(c.at)), compute.Operation{})
}

func (s *Server) aggregatedOperations(c *call) (any, error) {
	return s.aggregate(c, "operations", s.operations.seen(s.now, c.fault.Lag, anywhere), compute.Operation{})
}
