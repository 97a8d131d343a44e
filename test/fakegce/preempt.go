package fakegce

import (
	"cmp"
	"fmt"
)

// PreemptVM preempts the named running Spot instance. The instance is STOPPING while its guest
// shuts down, and is then stopped or deleted according to its scheduling.
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
	if v.api.Scheduling.InstanceTerminationAction == "DELETE" {
		s.remove(v)
		return
	}
	s.halt(v, "STOPPING")
	s.after(s.opts.DeleteTime, func() {
		if len(v.onGone) > 0 { // it was deleted during the preemption
			s.vanish(v)
			return
		}
		s.stop(v)
	})
}
