package scene

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"slurmflex/mig"
	"slurmflex/slurm"
)

// Machine is an instance with the group of ours that created it and the node of the same name.
// Either is nil if it does not exist.
type Machine struct {
	*mig.Instance
	Owned *mig.Group // the cluster's group, usable or not
	Maker *mig.Group // the group in Owned, if it is usable
	Node  *Node
}

func (s builder) addMachines() {
	s.Machines = make([]Machine, len(s.Seen.Instances))
	var last mig.GroupID
	var of *groupRecord
	for i := range s.Machines {
		in := &s.Seen.Instances[i]
		if key := in.GroupID(); of == nil || key != last { // neighbours mostly belong to one group
			last, of = key, noted(s.groups, key)
		}
		s.Machines[i] = Machine{Instance: in, Owned: of.owned, Maker: of.usable}
		of.shown++
		if !in.Leaving() {
			of.staying++
		}
	}
	slices.SortFunc(s.Machines, func(a, b Machine) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Zone, b.Zone))
	})
	for i := 0; i < len(s.Machines); {
		next := i + 1
		for next < len(s.Machines) && s.Machines[next].Name == s.Machines[i].Name {
			next++
		}
		same := s.Machines[i:next]
		if m := s.Node(same[0].Name); m != nil {
			m.Machines = same
			for j := range same {
				same[j].Node = m
			}
		}
		i = next
	}
}

// Origin returns the stamp of the instance's group, or its own stamp if no group of ours created
// it.
func (in Machine) Origin() mig.Stamp {
	if in.Maker != nil {
		return in.Maker.Stamp
	}
	return in.Stamp
}

// Ours reports whether slurmflex created the instance for this cluster, in a usable group or
// without a group.
func (s *Scene) Ours(in Machine) bool {
	if in.Group == "" {
		return in.Stamp.Cluster == s.Config.Cluster
	}
	return in.Maker != nil
}

// Stays reports whether the node has an instance that will stay, and whether it has one that is
// being deleted or will be.
func (s *Scene) Stays(node string) (stays, leaves bool) {
	for _, in := range s.MachinesOf(node) {
		if in.Leaving() || in.Node != nil && s.IsLeftover(in.Node, in) {
			leaves = true
		} else {
			stays = true
		}
	}
	return stays, leaves
}

// HasMachine reports whether the node has an instance of ours that will stay.
func (s *Scene) HasMachine(node string) bool {
	return slices.ContainsFunc(s.MachinesOf(node), func(in Machine) bool {
		return s.Ours(in) && !in.Leaving() && (in.Node == nil || !s.IsLeftover(in.Node, in))
	})
}

// IsBeingMade reports whether the call for the node's machine is in flight, or may have created a
// machine that no list shows yet.
func (s *Scene) IsBeingMade(node string) bool { return s.Seen.Asking[node] || s.Seen.Inserted[node] }

// WithoutMachine returns the nodes without an instance of ours that will stay; see HasMachine.
func (s *Scene) WithoutMachine(nodes []string) []string {
	return slices.DeleteFunc(slices.Clone(nodes), s.HasMachine)
}

// Present reports whether Compute still has anything for the node: an instance in any state, or a
// live request.
func (s *Scene) Present(node string) bool {
	return len(s.MachinesOf(node)) > 0 || len(s.RequestsOf(node)) > 0
}

// ResumeTimeoutReached is the reason that slurmctld sets on a node that did not boot within
// ResumeTimeout. Slurm up to 24.11 appends it to the node's earlier reason and a colon.
const ResumeTimeoutReached = "ResumeTimeout reached"

// IsPoweredDown reports whether Slurm itself has powered down the node of this machine: Slurm is
// powering it down now, remembers that the machine booted, or remembers that it did not boot in
// time. A slurmctld that has lost its state also shows POWERED_DOWN, but remembers none of these.
// Source: tests on Slurm 22.05, 24.11 and 26.05.
func (m *Node) IsPoweredDown(in Machine) bool {
	return m.State.Has(slurm.PoweringDown) || !m.BootTime.IsZero() && !m.BootTime.Before(in.Created) ||
		m.State.Base == slurm.Down && strings.HasSuffix(m.Reason, ResumeTimeoutReached)
}

// IsOrphaned reports whether the name belongs to no configured node and no job holds a node of that
// name.
func (s *Scene) IsOrphaned(node string) bool {
	_, _, known := s.Config.Find(node)
	return !known && !s.named(node).held && !s.anyNode
}

// MachinesOf returns the instances with a name. Instances in different zones can have the same
// name.
func (s *Scene) MachinesOf(name string) []Machine {
	if n := s.Node(name); n != nil {
		return n.Machines
	}
	first, found := slices.BinarySearchFunc(s.Machines, name, func(in Machine, name string) int { return cmp.Compare(in.Name, name) })
	if !found {
		return nil
	}
	end := first
	for end < len(s.Machines) && s.Machines[end].Name == name {
		end++
	}
	return s.Machines[first:end]
}

// Belongs reports whether the instance belongs to the cluster, by its own stamp or by its group's.
// Unlike Ours, it counts unreadable groups and groups that a newer slurmflex created.
func (s *Scene) Belongs(in Machine) bool {
	return in.Owned != nil || in.Group == "" && in.Stamp.Cluster == s.Config.Cluster
}

// StampOf returns the stamp of the instance's group, or the instance's own stamp if it is in no
// group. It returns the zero stamp for a group of another cluster.
func (s *Scene) StampOf(in Machine) mig.Stamp {
	switch {
	case in.Owned != nil:
		return in.Owned.Stamp
	case in.Group == "":
		return in.Stamp
	}
	return mig.Stamp{}
}

// OrphanedAfter is the age at which an instance or a request of ours without a node counts as
// orphaned.
const OrphanedAfter = 10 * time.Minute
