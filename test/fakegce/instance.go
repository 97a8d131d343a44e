package fakegce

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"google.golang.org/api/compute/v1"
)

func (s *Server) listInstances(c *call) (any, error) {
	return s.list(c, "compute#instanceList", append(s.instances.seen(s.now, c.fault.Lag, in(c.at)), s.waiting(c.fault.Lag, c.at)...), compute.Instance{})
}

// deleteInstance deletes a VM without informing the group that manages it. The operation ends
// when the VM no longer exists.
func (s *Server) deleteInstance(c *call) (any, error) {
	v, err := s.instances.find(s.path(c.at, "instances", c.name()))
	if err != nil {
		return nil, err
	}
	op := s.begin(c, &v.meta)
	s.later(op, func() {
		if v.gone {
			s.finish(op, nil)
			return
		}
		s.remove(v, func() { s.finish(op, nil) })
	})
	return op.api, nil
}

// DeleteVM deletes the named instance at once, without an operation or the knowledge of its
// group.
func (s *Server) DeleteVM(name string) error {
	return s.toVM("delete", name, s.vanish)
}

// StopVM stops the named instance at once and permanently, as a crash or a shutdown from
// within would.
func (s *Server) StopVM(name string) error {
	return s.toVM("stop", name, func(v *vm) {
		if v.api.Status != "STOPPING" {
			s.stop(v)
		}
	})
}

// EndLease makes the lease of the named running instance end after left. Tests use it to avoid
// waiting for ten minutes, the shortest lease.
func (s *Server) EndLease(name string, left time.Duration) error {
	err := fmt.Errorf("end lease of instance %s: it does not run, so it has no lease", name)
	missing := s.toVM("end lease of", name, func(v *vm) {
		if !v.ends.IsZero() {
			err = nil
			s.lease(v, left)
		}
	})
	return cmp.Or(missing, err)
}

func (s *Server) toVM(verb, name string, do func(*vm)) error {
	err := fmt.Errorf("%s instance %s: not found", verb, name)
	s.do(func() {
		for _, v := range s.instances.all() {
			if v.name == name {
				err = nil
				do(v)
				return
			}
		}
	})
	return err
}

// lastPart returns the text after the last slash of a path.
func lastPart(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }
