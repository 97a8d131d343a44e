package fakegce

import (
	"maps"
	"slices"
	"strings"

	"google.golang.org/api/compute/v1"
)

// member is a managed instance: a group's record of one of its instances, with or without a
// VM.
type member struct {
	meta    // the path identifies nothing: managed instances have none
	group   *group
	request *request // that added the instance
	vm      *vm      // nil before creation and after a loss
	action  string   // stored action; clients see shownAction
	hasty   bool     // shows no action as soon as it is created
	url     string   // of its VM; kept after the VM is lost
	problem *Problem // from the last attempt to create the VM
}

// shownAction returns the member's currentAction. It is CREATING until the VM runs, even if
// the request has already succeeded.
func (m *member) shownAction() string {
	if m.action == "NONE" && !m.hasty && m.vm != nil && m.vm.booting() {
		return "CREATING"
	}
	return m.action
}

// targetStatus returns the status that the group wants for the member's instance.
func (m *member) targetStatus() string {
	if m.leaving() {
		return "DELETED"
	}
	return "RUNNING"
}

func (m *member) body() any {
	a := &compute.ManagedInstance{
		Name: m.name, Instance: m.url, CurrentAction: m.shownAction(), TargetStatus: m.targetStatus(),
		Version: &compute.ManagedInstanceVersion{InstanceTemplate: m.group.template.link(), Name: m.group.api.Versions[0].Name},
	}
	if m.problem != nil {
		a.LastAttempt = &compute.ManagedInstanceLastAttempt{
			Errors: errorsOf[compute.ManagedInstanceLastAttemptErrors](m.problem),
		}
	}
	if m.vm != nil {
		a.Id, a.InstanceStatus = m.vm.id, m.vm.api.Status
		if end := m.vm.api.ResourceStatus.Scheduling; end != nil {
			a.Scheduling = &compute.ManagedInstanceScheduling{TerminationTimestamp: end.TerminationTimestamp}
		}
	}
	return a
}

// sorted returns the group's members by name.
func (g *group) sorted() []*member {
	list := make([]*member, 0, len(g.members))
	for _, name := range slices.Sorted(maps.Keys(g.members)) {
		list = append(list, g.members[name])
	}
	return list
}

// leaving reports whether the member is being deleted.
func (m *member) leaving() bool { return m.action == "DELETING" }

// dismiss deletes a member with its VM and lowers the group's targetSize.
func (s *Server) dismiss(m *member) {
	if m.leaving() {
		return
	}
	m.action = "DELETING"
	if m.request == nil || m.request.counted {
		m.group.resize(-1)
	}
	if m.vm == nil {
		delete(m.group.members, m.name)
		s.goOnDeleting(m.group)
		return
	}
	s.remove(m.vm)
}

// maxNamed is the maximum number of instances that one call may name.
const maxNamed = 1000

// named is the list of instances in a call's body.
type named struct {
	Instances                      []string `json:"instances"`
	SkipInstancesOnValidationError bool     `json:"skipInstancesOnValidationError"`
}

// deleteMembers starts the deletion of the named members. Its operation ends when the
// deletions are scheduled, not when the VMs no longer exist.
func (s *Server) deleteMembers(c *call) (any, error) {
	g, err := s.idleGroup(c)
	if err != nil {
		return nil, err
	}
	var list named
	if err := s.decode(c, &list); err != nil {
		return nil, err
	}
	if len(list.Instances) == 0 {
		return nil, required("resource.instances")
	}
	if len(list.Instances) > maxNamed {
		return nil, invalid("Invalid value for field 'resource.instances'. It names %d instances, and may name %d.", len(list.Instances), maxNamed)
	}
	if _, err := s.namedMembers(g, list); err != nil && err.Reason == "conditionNotMet" {
		return s.refused(c, &g.meta, err)
	}
	op := s.begin(c, &g.meta)
	s.complete(op, func() *Problem {
		members, err := s.namedMembers(g, list)
		if err != nil {
			return problemOf(err)
		}
		for _, m := range members {
			if m.vm == nil && m.request != nil && m.request.active() {
				s.cancel(m.request)
				continue
			}
			s.dismiss(m)
		}
		return nil
	})
	return op.api, nil
}

// namedMembers returns the members that a call names. It refuses members that an active
// request still waits for: the caller must cancel that request instead.
func (s *Server) namedMembers(g *group, list named) ([]*member, *refusal) {
	var members []*member
	byName := false
	for _, ref := range list.Instances {
		m, wrong := s.memberAt(g, ref)
		byName = byName || !strings.Contains(ref, "/")
		if wrong != nil {
			return nil, wrong
		}
		if m == nil || m.leaving() {
			if list.SkipInstancesOnValidationError {
				continue
			}
			return nil, invalid("Instance '%s' is not a member of the group '%s', or is on its way out of it.", ref, g.path)
		}
		if m.request != nil && m.request.active() && (m.request.launched || !s.opts.Switches.QueuedDeletable) {
			return nil, conditionNotMet("Instance '%s' waits for resize request '%s'. Cancel the resize request instead.", m.name, m.request.name)
		}
		if !slices.Contains(members, m) {
			members = append(members, m)
		}
	}
	if byName && slices.ContainsFunc(list.Instances, func(ref string) bool { return strings.Contains(ref, "/") }) {
		return nil, invalid("One cannot specify both URLs and names in a single request.")
	}
	return members, nil
}

// memberAt returns the member with this URL or name; a name works only for an instance without
// a VM. It refuses a URL that is malformed or names a place outside the group.
func (s *Server) memberAt(g *group, ref string) (*member, *refusal) {
	if !strings.Contains(ref, "/") {
		m := g.members[ref]
		if m != nil && m.vm != nil {
			m = nil
		}
		return m, nil
	}
	malformed := invalid("Invalid value for field 'resource.instances': '%s'. The URL is malformed, or of an instance outside the group's region.", ref)
	parts := strings.Split(s.canonical(ref), "/")
	if len(parts) != 6 || parts[1] != s.opts.Project || parts[2] != "zones" || parts[4] != "instances" || checkName("", parts[5]) != nil {
		return nil, malformed
	}
	zone := parts[3]
	if !slices.Contains(s.zonesOf(g.at.region), zone) {
		return nil, malformed
	}
	m := g.members[parts[5]]
	if m != nil && m.vm != nil && m.vm.at.zone != zone {
		m = nil
	}
	return m, nil
}

// membersReply is the answer of listManagedInstances, which has no pages.
type membersReply struct {
	ManagedInstances []any `json:"managedInstances,omitempty"`
}

func (s *Server) listMembers(c *call) (any, error) {
	g, err := s.group(c)
	if err != nil {
		return nil, err
	}
	var all membersReply
	for _, m := range g.sorted() {
		if !c.fault.omits(m) {
			all.ManagedInstances = append(all.ManagedInstances, c.fault.bodyOf(m))
		}
	}
	return all, nil
}
