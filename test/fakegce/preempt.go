package fakegce

import (
	"cmp"
	"fmt"

	"google.golang.org/api/compute/v1"
)

// PreemptVM has Compute take back the running Spot instance of that name: it is
// STOPPING while its guest shuts down, and then stops or goes, as its scheduling
// says. An operation of Compute's own reports it.
func (s *Server) PreemptVM(name string) error {
	err := fmt.Errorf("preempt instance %s: it is not a Spot instance that runs", name)
	missing := s.toVM("preempt", name, func(v *vm) {
		if v.running() && v.api.Scheduling.Preemptible {
			err = nil
			s.preempt(v)
		}
	})
	return cmp.Or(missing, err)
}

func (s *Server) preempt(v *vm) {
	s.recordPreemption(v)
	if v.api.Scheduling.InstanceTerminationAction == "DELETE" {
		s.remove(v)
		return
	}
	s.halt(v, "STOPPING")
	s.after(s.opts.DeleteTime, func() {
		if len(v.onGone) > 0 { // somebody has deleted it meanwhile
			s.vanish(v)
			return
		}
		s.stop(v)
	})
}

// recordPreemption puts the operation on record that Compute itself begins and
// ends when it preempts an instance.
func (s *Server) recordPreemption(v *vm) {
	m := s.newMeta(v.at, "operations", "")
	m.name = "systemevent-" + operationName(m.id, s.now)[len("operation-"):]
	m.path = s.path(v.at, "operations", m.name)
	op := &operation{meta: m, method: preempted, done: make(chan struct{}), undo: func(*Problem) {}}
	op.api = &compute.Operation{
		Kind: "compute#operation", Id: m.id, Name: m.name, SelfLink: m.link(), Zone: s.placeLink(v.at),
		OperationType: preempted, StatusMessage: "Instance was preempted.", Status: "RUNNING", User: "system",
		InsertTime: stamp(s.now), StartTime: stamp(s.now), CreationTimestamp: stamp(s.now),
		TargetId: v.id, TargetLink: v.link(),
	}
	s.operations.add(op)
	s.running[m.at.regionName()]++
	s.finish(op, nil)
}

// preempted is the type of the operation that reports a preemption.
const preempted = "compute.instances.preempted"
