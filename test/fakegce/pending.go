package fakegce

import (
	"time"

	"google.golang.org/api/compute/v1"
)

// waiting returns the instances that queued requests wait for, if the switches make Compute
// list them. They use no capacity, and no call can change them.
func (s *Server) waiting(lag time.Duration, here location) []resource {
	if !s.opts.Switches.PendingInstances {
		return nil
	}
	var list []resource
	for _, g := range s.groups.live {
		for _, r := range g.requests.live {
			if r.api.State != stateAccepted || r.launched || r.created.After(s.now.Add(-lag)) {
				continue
			}
			at := location{zone: g.zones[0]} // its zone is not yet known
			for _, name := range r.names {
				if m := g.members[name]; m != nil && m.vm == nil && at == here {
					list = append(list, s.pendingVM(m, r, at))
				}
			}
		}
	}
	return list
}

// pendingVM returns the instance that a member waits for.
func (s *Server) pendingVM(m *member, r *request, at location) *vm {
	about := m.meta
	about.at, about.path, about.ready = at, s.path(at, "instances", m.name), true
	props, by := m.group.template.api.Properties, s.numbered(m.group.path)
	return &vm{meta: about, api: &compute.Instance{
		Kind: "compute#instance", Id: m.id, Name: m.name, SelfLink: about.link(), CreationTimestamp: stamp(r.created),
		Zone: s.placeLink(at), Status: "PENDING", MachineType: s.placeLink(at) + "/machineTypes/" + props.MachineType,
		Scheduling: schedulingOf(props), Labels: props.Labels,
		Metadata: &compute.Metadata{Kind: "compute#metadata", Fingerprint: "AA==", Items: []*compute.MetadataItems{{Key: "created-by", Value: &by}}},
	}}
}
