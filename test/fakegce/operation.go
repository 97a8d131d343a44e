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

// keepRecords is how long Compute keeps finished operations and resize requests in a final
// state.
const keepRecords = 14 * 24 * time.Hour

// operation is the record that every mutation returns at once. It ends later.
type operation struct {
	meta
	api    *compute.Operation
	method string
	path   string // of the call that started it
	done   chan struct{}
	forced *Problem       // the operation ends with this and has no effect
	undo   func(*Problem) // reverts early effects if the operation ends with an error
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

// ConcurrentOperations is the quota for operations that run at the same time, either in a
// region with its zones or globally.
const ConcurrentOperations = "CONCURRENT_OPERATIONS"

// admitOperation refuses a call that would start one operation too many.
func (s *Server) admitOperation(c *call) error {
	region := c.at.regionName()
	limit := s.limit(quota{region, ConcurrentOperations})
	if !slices.Contains(c.route.query, once) || limit < 0 || float64(s.running[region]) < limit {
		return nil
	}
	return Fault{Status: http.StatusForbidden, Reason: concurrency}.refusal()
}

// later runs act after the operation time. act must finish the operation. If a fault makes the
// operation fail, later finishes it without act.
func (s *Server) later(op *operation, act func()) {
	s.after(s.opts.OperationTime, func() {
		if op.forced != nil {
			s.finish(op, op.forced)
			return
		}
		act()
	})
}

// complete runs act after the operation time and finishes the operation with act's result.
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

// refused rejects a call that the target's state forbids: with err, or under the switch
// LateRefusals with an operation that fails with err.
func (s *Server) refused(c *call, target *meta, err *refusal) (any, error) {
	if !s.opts.Switches.LateRefusals {
		return nil, err
	}
	op := s.begin(c, target)
	s.complete(op, func() *Problem { return problemOf(err) })
	return op.api, nil
}

// repeat returns the operation started by an earlier call with the same requestId.
func (s *Server) repeat(c *call) *operation {
	op, ok := s.repeats[c.query.Get("requestId")]
	if !ok || op.method != c.route.method || op.path != c.path {
		return nil
	}
	return op
}

// operationName returns a name in Google's form: operation-<ms>-<13 hex>-<8>-<8>.
func operationName(id uint64, now time.Time) string {
	h := fnv.New64a()
	fmt.Fprint(h, id)
	sum := h.Sum64()
	return fmt.Sprintf("operation-%d-%013x-%08x-%08x", now.UnixMilli(), id&(1<<52-1), sum>>32, sum&(1<<32-1))
}

// operationType returns the operationType of a method's operations.
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

// aggregateReply is the answer of an aggregatedList method.
type aggregateReply struct {
	Kind          string                  `json:"kind"`
	ID            string                  `json:"id"`
	Items         map[string]operationsOf `json:"items"`
	NextPageToken string                  `json:"nextPageToken,omitempty"`
	SelfLink      string                  `json:"selfLink"`
}

// operationsOf holds the operations of a place.
type operationsOf struct {
	Operations []any `json:"operations"`
}

// aggregatedOperations lists every place that can have operations. A place that cannot be reached
// fails the list.
func (s *Server) aggregatedOperations(c *call) (any, error) {
	scopes := []location{{}}
	for _, r := range s.regions() {
		scopes = append(scopes, location{region: r})
	}
	for _, z := range s.opts.Zones {
		scopes = append(scopes, location{zone: z})
	}
	if slices.ContainsFunc(scopes, func(at location) bool { return s.unreached(c, at) }) {
		return nil, backendError()
	}
	p, err := s.page(c, s.operations.seen(s.now, c.fault.Lag, anywhere), compute.Operation{})
	if err != nil {
		return nil, err
	}
	id := strings.TrimPrefix(c.path, "/compute/v1/")
	answer := aggregateReply{
		Kind: "compute#operationAggregatedList", ID: id, SelfLink: apiRoot + id, NextPageToken: p.next, Items: make(map[string]operationsOf),
	}
	for _, r := range p.results {
		scope := r.about().at.String()
		answer.Items[scope] = operationsOf{append(answer.Items[scope].Operations, c.fault.bodyOf(r))}
	}
	return answer, nil
}
