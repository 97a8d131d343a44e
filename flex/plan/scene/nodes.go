package scene

import (
	"cmp"
	"slices"
	"time"

	"slurmflex/config"
	"slurmflex/slurm"
)

// Named is what a pass has seen under the name of a node or an instance.
type Named struct {
	*slurm.Node              // nil: Slurm does not show it
	Holders     []*slurm.Job // the jobs that hold it: the first holder first for a flex node, in queue order for any other node
	Doubted     bool         // an unreadable job may hold it
	Machines    []Machine    // the instances; in different zones, several can have the name
	Requests    []Live       // live requests for it, in the order of their groups
	MayShow     bool         // an instance may exist although no list shows it
	Unread      string       // what could not be read about it; empty: all of it was read
}

// Node is a flex node that Slurm shows.
type Node struct {
	Named
	Set    *config.NodeSet
	Index  int
	Static bool // one of its nodeset's static nodes
	Power  slurm.Power
	Owner  *slurm.Job // the first of the holders that is not completing; nil: no such job
	At     int        // its index in Scene.Nodes
	// Something in the cloud that concerns the node, or its whole region, could not be read.
	IsUnread bool

	// When its lease ended, or maintenance of its host started, according to our reservations: to the
	// second if a pass of this process saw the end, otherwise to the minute; zero: neither has happened.
	Ended  time.Time
	LostBy LossCause // why its machine was lost although the node is up; empty: it was not
	IsLost bool      // it is certainly lost

	Unhealthy string // why its machine failed its health check; empty: it did not
	// It is out of service only until its machine passes its health check or is replaced.
	IsChecked bool
	// A health check has drained it, and its machine is gone: the check may have ended after the node
	// was powered down.
	IsDrainedInVain bool

	Cover bool // a cover closes it now
	Busy  bool // the cover over busy nodes has it
	Cold  bool // the cover over cold nodes has it
	// The door of the pending job that gets the node; nil: no such job.
	Door *Door
	// The door of the changed job that the node is kept for, until Slurm has planned the job again.
	Changed  *Door
	Reserved []*slurm.Reservation // its other reservations, without a nodeset's back-off
	Others   []*slurm.Reservation // those that are not ours
	Foreign  bool                 // one of the others must not be closed by a cover
}

// addNodes adds the nodes and sorts them by nodeset and index. Slurm usually lists them in that
// order.
func (s builder) addNodes() {
	all := make([]Node, len(s.Seen.Nodes))
	s.Nodes = make([]*Node, 0, len(all))
	for i := range all {
		n := &s.Seen.Nodes[i]
		set, index, ok := s.Config.Find(n.Name)
		if !ok || set.Flex == nil {
			s.note(n.Name).Node = n
			continue
		}
		if s.table[set] == nil {
			s.table[set] = make([]*Node, set.Size())
		}
		if s.table[set][index] != nil {
			continue
		}
		all[i] = Node{Named: Named{Node: n}, Set: set, Index: index, Static: set.IsStatic(index), Power: n.State.Power()}
		s.table[set][index] = &all[i]
		s.Nodes = append(s.Nodes, &all[i])
	}
	slices.SortFunc(s.Nodes, func(a, b *Node) int {
		return cmp.Or(cmp.Compare(a.Set.Name, b.Set.Name), cmp.Compare(a.Index, b.Index))
	})
	for i, m := range s.Nodes {
		m.At = i
	}
}

// owner returns the value of Owner for the present holders.
func (m *Node) owner() *slurm.Job {
	for _, j := range m.Holders {
		if j.State != slurm.JobCompleting {
			return j
		}
	}
	return nil
}

// Idle reports whether the node is idle and not drained, failing, or in maintenance.
func (m *Node) Idle() bool {
	return m.State.IsIdle() && !m.State.Held() && !m.State.Has(slurm.Drain) && !m.State.Has(slurm.Fail) &&
		!m.State.Has(slurm.Maintenance)
}

// IsWithdrawn reports whether Slurm starts no job on the node until an admin resumes it: it is DOWN,
// drained or failing.
func (m *Node) IsWithdrawn() bool {
	return m.State.Base == slurm.Down || m.State.Has(slurm.Drain) || m.State.Has(slurm.Fail)
}

// Taken reports whether a job holds the node, or an unreadable job may hold it.
func (n *Named) Taken() bool { return len(n.Holders) > 0 || n.Doubted }

// AddJobs appends the jobs that hold the node to known, without duplicates.
func (m *Node) AddJobs(known []*slurm.Job) []*slurm.Job {
	for _, j := range m.Holders {
		if !slices.Contains(known, j) {
			known = append(known, j)
		}
	}
	return known
}

// Node returns the flex node with that name; nil if Slurm does not show it.
func (s *Scene) Node(name string) *Node {
	set, index, ok := s.Config.Find(name)
	if !ok || s.table[set] == nil {
		return nil
	}
	return s.table[set][index]
}

// NodesNamed returns the flex nodes with those names, without those that Slurm does not show.
func (s *Scene) NodesNamed(names []string) (nodes []*Node) {
	for _, name := range names {
		if m := s.Node(name); m != nil {
			nodes = append(nodes, m)
		}
	}
	return nodes
}

// Named returns what the pass has seen under a name, whether or not it is a flex node's.
func (s *Scene) Named(name string) *Named {
	if m := s.Node(name); m != nil {
		return &m.Named
	}
	return cmp.Or(s.strays[name], &Named{})
}
