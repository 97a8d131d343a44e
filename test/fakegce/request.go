package fakegce

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"google.golang.org/api/compute/v1"
)

// States of a resize request.
const (
	stateCreating  = "CREATING"
	stateAccepted  = "ACCEPTED"
	stateSucceeded = "SUCCEEDED"
	stateFailed    = "FAILED"
	stateCancelled = "CANCELLED"
)

// request is a resize request: all its instances in one zone, or none.
type request struct {
	meta
	api      *compute.InstanceGroupManagerResizeRequest
	group    *group
	names    []string // of its instances, in order
	counted  bool     // the group's targetSize includes it
	launched bool     // its VMs exist, though some may still be booting
}

func (r *request) body() any { return r.api }

// active reports whether the request may still create instances.
func (r *request) active() bool {
	return r.api.State == stateCreating || r.api.State == stateAccepted
}

// count raises the group's targetSize by the request's size, at most once.
func (r *request) count() {
	if !r.counted {
		r.counted = true
		r.group.resize(len(r.names))
	}
}

// request returns the resize request named by a call.
func (s *Server) request(c *call) (*request, error) {
	g, err := s.group(c)
	if err != nil {
		return nil, err
	}
	return g.requests.find(g.path + "/resizeRequests/" + c.vars["resizeRequest"])
}

// idleRequest returns the request that a call wants to change. It refuses one in a group that
// an operation is creating or deleting.
func (s *Server) idleRequest(c *call) (*request, error) {
	if _, err := s.idleGroup(c); err != nil {
		return nil, err
	}
	return s.request(c)
}

func (s *Server) insertRequest(c *call) (any, error) {
	g, err := s.idleGroup(c)
	if err != nil {
		return nil, err
	}
	spec := new(compute.InstanceGroupManagerResizeRequest)
	if err := s.decode(c, spec); err != nil {
		return nil, err
	}
	if err := checkRequest(c, spec); err != nil {
		return nil, err
	}
	path := g.path + "/resizeRequests/" + spec.Name
	if _, ok := g.requests.get(path); ok {
		return s.refused(c, &g.meta, alreadyExists(path))
	}
	for i, n := range spec.Instances {
		if g.members[n.Name] != nil {
			return nil, invalid("Invalid value for field 'resource.instances[%d].name': '%s'. The group has an instance of that name.", i, n.Name)
		}
	}
	r := s.enqueue(c, g, spec)
	op := s.begin(c, &r.meta)
	op.undo = func(p *Problem) {
		s.fail(r, p)
		if s.opts.Switches.ForgetRefused {
			g.requests.remove(r, s.now)
		}
		s.goOnDeleting(g)
	}
	s.complete(op, func() *Problem {
		if p := s.objection(r); p != nil {
			return p
		}
		s.accept(r)
		return nil
	})
	return op.api, nil
}

// checkRequest refuses a resize request with invalid fields.
func checkRequest(c *call, spec *compute.InstanceGroupManagerResizeRequest) error {
	if err := checkName("resource.name", spec.Name); err != nil {
		return err
	}
	if len(spec.Instances) == 0 || c.has("resizeBy") {
		return notImplemented("This fake creates instances by their names only.")
	}
	if d := spec.RequestedRunDuration; d != nil && d.Nanos != 0 {
		return invalid("Invalid value for field 'resource.requestedRunDuration.nanos': '%d'. Must be 0: a machine runs for whole seconds.", d.Nanos)
	}
	seen := make(map[string]bool)
	for i, n := range spec.Instances {
		field := fmt.Sprintf("resource.instances[%d].name", i)
		if err := checkName(field, n.Name); err != nil {
			return err
		}
		if seen[n.Name] {
			return invalid("Invalid value for field '%s': '%s'. The name is given twice.", field, n.Name)
		}
		seen[n.Name] = true
	}
	return nil
}

// enqueue records a new request and its instances.
func (s *Server) enqueue(c *call, g *group, spec *compute.InstanceGroupManagerResizeRequest) *request {
	r := &request{meta: s.newMeta(c.at, "", spec.Name), api: spec, group: g}
	r.path = g.path + "/resizeRequests/" + spec.Name
	spec.Kind, spec.Id, spec.CreationTimestamp = "compute#instanceGroupManagerResizeRequest", r.id, stamp(s.now)
	spec.SelfLink, spec.State = r.link(), stateCreating
	spec.SelfLinkWithId = fmt.Sprintf("%s%s/resizeRequests/%d", apiRoot, g.path, r.id)
	spec.Status = new(compute.InstanceGroupManagerResizeRequestStatus)
	spec.Region = s.placeLink(g.at)
	for _, n := range spec.Instances {
		r.names = append(r.names, n.Name)
	}
	spec.ResizeBy = int64(len(r.names))
	for _, name := range r.names {
		g.members[name] = &member{
			meta: s.newMeta(location{}, "managedInstances", name), group: g, request: r,
			action: "CREATING", hasty: s.opts.Switches.NoActionOnceCreated,
		}
	}
	if s.opts.Switches.TargetSizeAt == "" {
		r.count()
	}
	g.requests.add(r)
	return r
}

// accept moves a valid request into the queue for capacity.
func (s *Server) accept(r *request) {
	r.api.State = stateAccepted
	if s.opts.Switches.TargetSizeAt != AtSucceeded {
		r.count()
	}
	s.after(s.opts.QueueTime, func() { s.attempt(r) })
}

// attempt looks for room for a queued request. Without room, it schedules the next attempt.
func (s *Server) attempt(r *request) {
	if r.api.State != stateAccepted {
		return
	}
	again := func() { s.after(s.opts.AttemptInterval, func() { s.attempt(r) }) }
	if r.group.deletion != nil {
		again()
		return
	}
	zone, p := s.findRoom(r)
	if p == nil {
		s.launchAll(r, zone)
		return
	}
	if p.Code == nameTaken && s.opts.Switches.NameConflictFails {
		s.fail(r, p)
		return
	}
	r.api.Status = &compute.InstanceGroupManagerResizeRequestStatus{
		LastAttempt: &compute.InstanceGroupManagerResizeRequestStatusLastAttempt{
			Error: errorsOf[compute.InstanceGroupManagerResizeRequestStatusLastAttemptError](p),
		},
	}
	for _, name := range r.names {
		r.group.members[name].problem = p
	}
	again()
}

// launchAll creates a request's VMs. The request succeeds when they exist.
func (s *Server) launchAll(r *request, zone string) {
	r.launched = true
	for _, name := range r.names {
		s.launchMember(r.group.members[name], zone, s.runDuration(r))
	}
	s.after(s.opts.BootTime/2, func() { s.succeed(r) })
}

func (s *Server) succeed(r *request) {
	if r.api.State != stateAccepted {
		return
	}
	r.api.State = stateSucceeded
	r.count()
	for _, name := range r.names {
		r.group.members[name].action = "NONE"
		r.group.members[name].problem = nil
	}
	s.retire(r)
}

// fail ends a request permanently and deletes the VMs already created.
func (s *Server) fail(r *request, p *Problem) {
	if !r.active() {
		return
	}
	r.api.State = stateFailed
	r.api.Status = &compute.InstanceGroupManagerResizeRequestStatus{
		Error: errorsOf[compute.InstanceGroupManagerResizeRequestStatusError](p),
	}
	s.release(r)
}

// cancel ends an active request on behalf of its owner.
func (s *Server) cancel(r *request) {
	if r.active() {
		r.api.State = stateCancelled
		s.release(r)
	}
}

// release removes an unsuccessful request's instances from its group.
func (s *Server) release(r *request) {
	for _, name := range r.names {
		m := r.group.members[name]
		if m == nil || m.request != r {
			continue
		}
		m.action = "DELETING"
		if m.vm == nil {
			delete(r.group.members, name)
			continue
		}
		s.remove(m.vm)
	}
	if r.counted {
		r.group.resize(-len(r.names))
	}
	s.retire(r)
}

// retire clears the last attempt of a request in a final state, and removes the request after
// keepRecords.
func (s *Server) retire(r *request) {
	r.api.Status = &compute.InstanceGroupManagerResizeRequestStatus{Error: r.api.Status.Error}
	s.goOnDeleting(r.group)
	s.after(keepRecords, func() { r.group.requests.remove(r, s.now) })
}

// runDuration returns how long the request's VMs may run.
func (s *Server) runDuration(r *request) time.Duration {
	return cmp.Or(seconds(r.api.RequestedRunDuration), r.group.template.runDuration())
}

const finalStateText = "Cancelling resize request that has reached a final state is not possible."

// cancelRequest cancels a queued request. If the request reaches a final state before the
// operation ends, the operation fails.
func (s *Server) cancelRequest(c *call) (any, error) {
	r, err := s.idleRequest(c)
	if err != nil {
		return nil, err
	}
	if !r.active() {
		return s.refused(c, &r.meta, conditionNotMet(finalStateText))
	}
	if r.api.State == stateCreating && !s.opts.Switches.CancelWhileCreating {
		return s.refused(c, &r.meta, conditionNotMet("Cancelling resize request is possible only in the accepted state."))
	}
	op := s.begin(c, &r.meta)
	s.complete(op, func() *Problem {
		if !r.active() {
			return problem("CONDITION_NOT_MET", finalStateText)
		}
		s.cancel(r)
		return nil
	})
	return op.api, nil
}

// deleteRequest removes the record of a request in a final state. Its VMs keep running.
func (s *Server) deleteRequest(c *call) (any, error) {
	r, err := s.idleRequest(c)
	if err != nil {
		return nil, err
	}
	if r.active() {
		return s.refused(c, &r.meta, conditionNotMet("Deleting resize request that has not reached a final state is not possible."))
	}
	op := s.begin(c, &r.meta)
	s.complete(op, func() *Problem {
		r.group.requests.remove(r, s.now)
		return nil
	})
	return op.api, nil
}

// regionalRequests is the kind of a list of regional resize requests.
const regionalRequests = "compute#regionInstanceGroupManagerResizeRequestList"

func (s *Server) listRequests(c *call) (any, error) {
	g, err := s.group(c)
	if err != nil {
		return nil, err
	}
	return s.list(c, regionalRequests, g.requests.seen(s.now, c.fault.Lag, anywhere), compute.InstanceGroupManagerResizeRequest{})
}

// activeRequests counts the active requests of a region.
func (s *Server) activeRequests(region string) int {
	n := 0
	for _, g := range s.groups.live {
		if g.at.region == region {
			n += len(slices.DeleteFunc(g.requests.all(), func(r *request) bool { return !r.active() }))
		}
	}
	return n
}
