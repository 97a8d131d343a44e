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

	// slurmflex created it for this cluster, in a usable group or without a group.
	Ours bool
	// It is the cluster's: also in an unreadable group, or one that a newer slurmflex created.
	Belongs bool
	// The stamp of its group, or its own stamp if it is in no group; zero in a group of another cluster.
	Origin mig.Stamp
	// The group that it names as its creator denies that it is a member: it was abandoned, or is a copy
	// with the same metadata. The group deletes no such instance, and slurmflex leaves it to the admin.
	Outsider bool
	// It is older than the allocation of its rising node to the present job, and cannot serve that job.
	Leftover bool
}

func (s builder) addMachines() {
	for id, members := range s.Seen.Members {
		if of := noted(s.groups, id); members.Err == nil {
			of.Members, of.namesMembers = members.All, true
		}
	}
	s.Machines = make([]Machine, len(s.Seen.Instances))
	for i := range s.Machines {
		in := &s.Seen.Instances[i]
		of := noted(s.groups, in.GroupID())
		s.Machines[i] = s.machine(in, of)
		of.Shown++
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
		m := s.Node(s.Machines[i].Name)
		for j := range s.Machines[i:next] {
			s.Machines[i+j].Node = m
		}
		s.note(s.Machines[i].Name).Machines = s.Machines[i:next]
		i = next
	}
	for i, in := range s.Machines {
		s.Machines[i].Leftover = s.isLeftover(in)
	}
}

// machine returns the instance with what its group shows about it.
func (s builder) machine(in *mig.Instance, of *Group) Machine {
	m := Machine{Instance: in, Owned: of.Owned, Maker: of.Usable, Ours: of.Usable != nil, Belongs: of.Owned != nil}
	switch {
	case in.Group == "":
		m.Origin = in.Stamp
		m.Ours = in.Stamp.Cluster == s.Config.Cluster
		m.Belongs = m.Ours
	case of.Owned != nil:
		m.Origin = of.Owned.Stamp
	}
	m.Outsider = of.namesMembers && !slices.ContainsFunc(of.Members, func(m mig.Member) bool {
		return m.Name == in.Name && (m.Zone == "" || m.Zone == in.Zone)
	})
	return m
}

// Stays reports whether one of the instances will stay, and whether one is being deleted or will be.
func (n *Named) Stays() (stays, leaves bool) {
	for _, in := range n.Machines {
		if in.Leaving() || in.Leftover {
			leaves = true
		} else {
			stays = true
		}
	}
	return stays, leaves
}

// HasMachine reports whether one of the instances is ours and will stay.
func (n *Named) HasMachine() bool {
	return slices.ContainsFunc(n.Machines, func(in Machine) bool { return in.Ours && !in.Leaving() && !in.Leftover })
}

// IsBeingMade reports whether the call for the node's machine is in flight, or may have created a
// machine that no list shows yet.
func (s *Scene) IsBeingMade(node string) bool { return s.Seen.Asking[node] || s.Seen.Inserted[node] }

// WithoutMachine returns the nodes without an instance of ours that will stay; see HasMachine.
func (s *Scene) WithoutMachine(nodes []string) []string {
	return slices.DeleteFunc(slices.Clone(nodes), func(name string) bool { return s.Named(name).HasMachine() })
}

// Present reports whether Compute still has anything under the name: an instance in any state, or a
// live request.
func (n *Named) Present() bool { return len(n.Machines) > 0 || len(n.Requests) > 0 }

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
	return !known && !s.Named(node).Taken() && !s.anyNode
}

// OrphanedAfter is the age at which an instance or a request of ours without a node counts as
// orphaned.
const OrphanedAfter = 10 * time.Minute
