package fakegce

import (
	"cmp"
	"slices"
	"strconv"

	"google.golang.org/api/compute/v1"
)

// deleteGroup deletes a group with its requests and VMs. While VMs are being
// created for a request it waits for that request to succeed.
func (s *Server) deleteGroup(c *call) (any, error) {
	g, err := s.idleGroup(c)
	if err != nil {
		return nil, err
	}
	op := s.begin(c, &g.meta)
	g.deletion = op
	op.undo = func(*Problem) { g.deletion = nil }
	s.later(op, func() {
		g.emptying = true
		s.goOnDeleting(g)
	})
	return op.api, nil
}

// goOnDeleting does the next step of a group's deletion that can be done.
func (s *Server) goOnDeleting(g *group) {
	if !g.emptying || g.creating() {
		return
	}
	for _, m := range g.sorted() {
		switch {
		case m.vm == nil:
			delete(g.members, m.name)
		case !m.leaving():
			m.action = "DELETING"
			s.remove(m.vm)
		}
	}
	if len(g.members) > 0 {
		return
	}
	for _, r := range g.requests.all() {
		if r.active() {
			r.api.State = stateCancelled
		}
		g.requests.remove(r, s.now)
	}
	g.emptying = false
	s.groups.remove(g, s.now)
	s.finish(g.deletion, nil)
}

// resizeGroup makes a group smaller; only resize requests make one larger.
func (s *Server) resizeGroup(c *call) (any, error) {
	g, err := s.idleGroup(c)
	if err != nil {
		return nil, err
	}
	size, err := strconv.ParseInt(c.query.Get("size"), 10, 32)
	if err != nil || size < 0 {
		return nil, invalid("Invalid value for field 'size': '%s'. Must be greater than or equal to 0.", c.query.Get("size"))
	}
	return s.setSize(c, g, size, func() {})
}

// setSize changes a group's targetSize, and what else apply does with it.
func (s *Server) setSize(c *call, g *group, size int64, apply func()) (any, error) {
	if g.queued() {
		return s.refused(c, &g.meta, resizeBesideRequest(g))
	}
	if size > g.api.TargetSize {
		return nil, growsByRequests(g.template)
	}
	op := s.begin(c, &g.meta)
	s.complete(op, func() *Problem {
		if g.queued() {
			return problemOf(resizeBesideRequest(g))
		}
		apply()
		for _, m := range g.surplus(size) {
			s.dismiss(m)
		}
		return nil
	})
	return op.api, nil
}

func resizeBesideRequest(g *group) *refusal {
	return conditionNotMet("Resizing the instance group manager '%s' is not possible while it has an accepted resize request.", g.path)
}

// surplus are the members to give up for a targetSize: those without a VM
// first, then the youngest.
func (g *group) surplus(size int64) []*member {
	rank := func(m *member) int {
		if m.vm == nil {
			return 0
		}
		return 1
	}
	staying := slices.DeleteFunc(g.sorted(), func(m *member) bool { return m.leaving() })
	slices.SortStableFunc(staying, func(a, b *member) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), b.created.Compare(a.created))
	})
	return staying[:max(0, min(len(staying), int(g.api.TargetSize-size)))]
}

// patchGroup changes what may be changed in a flex-start group.
func (s *Server) patchGroup(c *call) (any, error) {
	g, err := s.idleGroup(c)
	if err != nil {
		return nil, err
	}
	change := new(compute.InstanceGroupManager)
	if err := s.decode(c, change); err != nil {
		return nil, err
	}
	if change.Fingerprint != "" && change.Fingerprint != g.fingerprint() {
		return nil, conditionNotMet("Supplied fingerprint does not match current metadata fingerprint.")
	}
	for _, field := range []string{
		"name", "allInstancesConfig", "autoHealingPolicies", "baseInstanceName", "description", "distributionPolicy",
		"instanceFlexibilityPolicy", "instanceTemplate", "namedPorts", "resourcePolicies", "standbyPolicy",
		"statefulPolicy", "targetPools", "targetSizePolicy", "targetStoppedSize", "targetSuspendedSize",
	} {
		if c.has(field) {
			return nil, invalid("Invalid value for field 'resource.%s'. It cannot be changed here.", field)
		}
	}
	if len(change.Versions) > 1 {
		return s.refused(c, &g.meta, versionBesideRequest(g))
	}
	apply, err := s.patch(c, g, change)
	if err != nil {
		return nil, err
	}
	if c.has("targetSize") {
		return s.setSize(c, g, change.TargetSize, apply)
	}
	op := s.begin(c, &g.meta)
	s.complete(op, func() *Problem { apply(); return nil })
	return op.api, nil
}

func versionBesideRequest(g *group) *refusal {
	if g.queued() {
		return conditionNotMet("A second version is not possible while '%s' has an accepted resize request.", g.path)
	}
	return invalid("Invalid value for field 'resource.versions'. A group in this fake has one version.")
}

// patch is the change to a group that the given fields of a body ask for.
func (s *Server) patch(c *call, g *group, change *compute.InstanceGroupManager) (func(), error) {
	t := g.template
	if len(change.Versions) == 1 {
		var err error
		if t, err = s.groupTemplate(c, change); err != nil {
			return nil, err
		}
	}
	return func() {
		g.template = t
		g.api.InstanceTemplate = t.link()
		g.api.Versions[0].InstanceTemplate = t.link()
		if change.UpdatePolicy != nil {
			g.api.UpdatePolicy = change.UpdatePolicy
		}
		if change.InstanceLifecyclePolicy != nil {
			g.api.InstanceLifecyclePolicy = change.InstanceLifecyclePolicy
		}
		if change.ListManagedInstancesResults != "" {
			g.api.ListManagedInstancesResults = change.ListManagedInstancesResults
		}
		g.revision++
	}, nil
}
