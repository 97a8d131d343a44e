package plan

import (
	"cmp"
	"slices"
	"strings"

	"slurmflex/mig"
	"slurmflex/slurm"
)

// machine is an instance, the group of ours that made it, and the node of its
// name; each is nil if there is none.
type machine struct {
	*mig.Instance
	group  *mig.Group
	member *member
}

func (s *scene) addMachines() {
	s.machines = make([]machine, len(s.snap.Instances))
	for i := range s.machines {
		in := &s.snap.Instances[i]
		key := in.GroupID()
		s.machines[i] = machine{Instance: in, group: s.groups[key]}
		s.inGroup[key]++
		if !in.Leaving() {
			s.staying[key]++
		}
	}
	slices.SortFunc(s.machines, func(a, b machine) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Zone, b.Zone))
	})
	for i := 0; i < len(s.machines); {
		next := i + 1
		for next < len(s.machines) && s.machines[next].Name == s.machines[i].Name {
			next++
		}
		same := s.machines[i:next]
		s.instances[same[0].Name] = same
		if m := s.nodes[same[0].Name]; m != nil {
			m.machines = same
			for j := range same {
				same[j].member = m
			}
		}
		i = next
	}
}

// stamp is its group's, or its own if no group made it.
func (in machine) stamp() mig.Stamp {
	if in.group != nil {
		return in.group.Stamp
	}
	return in.Stamp
}

// ours reports whether a group of ours made the instance, or we without one.
func (s *scene) ours(in machine) bool {
	if in.Group == "" {
		return in.Stamp.Cluster == s.cfg.Cluster
	}
	return in.group != nil
}

// machine reports whether the node has an instance that is there to stay, and
// whether it has one that is on its way out.
func (s *scene) machine(node string) (stays, leaves bool) {
	for _, in := range s.instances[node] {
		if in.Leaving() || in.member != nil && s.isLeftover(in.member, in) {
			leaves = true
		} else {
			stays = true
		}
	}
	return stays, leaves
}

// hasMachine reports whether the node has an instance of ours that is there to stay.
func (s *scene) hasMachine(node string) bool {
	return slices.ContainsFunc(s.instances[node], func(in machine) bool {
		return s.ours(in) && !in.Leaving() && (in.member == nil || !s.isLeftover(in.member, in))
	})
}

// withoutMachine returns the nodes that have no machine of ours that stays.
func (s *scene) withoutMachine(nodes []string) []string {
	return slices.DeleteFunc(slices.Clone(nodes), s.hasMachine)
}

// present reports whether anything of the node's is in the cloud still: an
// instance, whatever its state, or a live request.
func (s *scene) present(node string) bool {
	return len(s.instances[node]) > 0 || len(s.requests[node]) > 0
}

func (s *scene) anyPresent(nodes []string) bool {
	for _, n := range nodes {
		if len(s.instances[n]) > 0 {
			return true
		}
	}
	return false
}

// anyOurs reports whether any of the nodes has an instance that is ours, or may
// be: its group has a name of ours and is not listed. One that has run for half of
// ResumeTimeout and has not joined Slurm is not waited for: Slurm would take the node
// down before it does.
func (s *scene) anyOurs(nodes []string) bool {
	return slices.ContainsFunc(nodes, func(name string) bool {
		return slices.ContainsFunc(s.instances[name], func(in machine) bool {
			return s.ours(in) || strings.HasPrefix(in.Group, s.cfg.Cluster+"-") && !s.isOld(in.Created, s.snap.ResumeTimeout/2)
		})
	})
}

// resumeTimeoutReached is the reason that slurmctld gives such a node. By 24.11
// it is put behind the reason that the node had, and a colon.
const resumeTimeoutReached = "ResumeTimeout reached"

// isPoweredDown reports whether Slurm itself has powered this machine's node down:
// it is about to, or it remembers that the machine booted, or that it did not come
// up in time. A slurmctld that has lost its state shows POWERED_DOWN too, and
// remembers none of that. Source: trials on 22.05, 24.11 and 26.05.
func (m *member) isPoweredDown(in machine) bool {
	return m.State.Has(slurm.PoweringDown) || !m.BootTime.IsZero() && !m.BootTime.Before(in.Created) ||
		m.State.Base == slurm.Down && strings.HasSuffix(m.Reason, resumeTimeoutReached)
}

// isStranded reports whether the configuration has no node of that name, and no job
// holds one.
func (s *scene) isStranded(node string) bool {
	_, _, known := s.cfg.Find(node)
	return !known && !s.held[node] && !s.anyNode
}
