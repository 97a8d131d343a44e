package fakegce

import (
	"google.golang.org/api/compute/v1"
)

// policy is a workload policy.
type policy struct {
	meta
	api *compute.ResourcePolicy
}

func (p *policy) body() any { return p.api }

func (s *Server) insertPolicy(c *call) (any, error) {
	spec := new(compute.ResourcePolicy)
	if err := s.decode(c, spec); err != nil {
		return nil, err
	}
	if err := checkPolicy(spec); err != nil {
		return nil, err
	}
	p := &policy{meta: s.newMeta(c.at, "resourcePolicies", spec.Name), api: spec}
	if _, ok := s.policies.get(p.path); ok {
		return nil, alreadyExists(p.path)
	}
	spec.Kind, spec.Id, spec.SelfLink, spec.CreationTimestamp = "compute#resourcePolicy", p.id, p.link(), stamp(s.now)
	spec.Region, spec.Status = s.placeLink(c.at), "CREATING"
	s.policies.add(p)
	op := s.begin(c, &p.meta)
	op.undo = func(*Problem) { s.policies.remove(p, s.now) }
	s.complete(op, func() *Problem {
		p.ready, p.api.Status = true, "READY"
		return nil
	})
	return op.api, nil
}

// checkPolicy refuses a policy that is not a workload policy.
func checkPolicy(spec *compute.ResourcePolicy) error {
	if err := checkName("resource.name", spec.Name); err != nil {
		return err
	}
	switch {
	case spec.WorkloadPolicy == nil:
		return notImplemented("This fake has workload policies only.")
	case spec.WorkloadPolicy.Type == "":
		return required("resource.workloadPolicy.type")
	}
	return nil
}

// deletePolicy deletes a policy that no group uses.
func (s *Server) deletePolicy(c *call) (any, error) {
	p, err := s.policies.find(s.path(c.at, "resourcePolicies", c.name()))
	if err != nil {
		return nil, err
	}
	if !p.ready {
		return nil, notReady(p.path)
	}
	for _, g := range s.groups.all() {
		if r := g.api.ResourcePolicies; r != nil && s.canonical(r.WorkloadPolicy) == p.path {
			return nil, inUse("resource_policy", p.path, g.path)
		}
	}
	p.ready, p.api.Status = false, "DELETING"
	op := s.begin(c, &p.meta)
	op.undo = func(*Problem) { p.ready, p.api.Status = true, "READY" }
	s.complete(op, func() *Problem { s.policies.remove(p, s.now); return nil })
	return op.api, nil
}

func (s *Server) listPolicies(c *call) (any, error) {
	return s.list(c, "compute#resourcePolicyList", s.policies.seen(s.now, c.fault.Lag, in(c.at)), compute.ResourcePolicy{})
}
