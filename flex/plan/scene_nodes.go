package plan

import (
	"cmp"
	"slices"

	"slurmflex/config"
	"slurmflex/slurm"
)

// member is a flex node that Slurm shows.
type member struct {
	*slurm.Node
	set      *config.NodeSet
	index    int
	power    slurm.Power
	jobs     []*slurm.Job // that hold it, in the order of their claims
	machines []machine    // its instances
	doubted  bool         // a job that could not be read may hold it
	at       int          // its place in the scene's members

	promised bool                 // it is reserved for a job that moves, or has lost machines
	reserved []*slurm.Reservation // the other reservations of it, but not a nodeset's rest
}

// addNodes takes the nodes in the order of the snapshot, which is Slurm's and
// most often the one wanted.
func (s *scene) addNodes() {
	all := make([]member, len(s.snap.Nodes))
	s.members = make([]*member, 0, len(all))
	for i := range all {
		n := &s.snap.Nodes[i]
		set, index, ok := s.cfg.Find(n.Name)
		if !ok || set.Flex == nil || s.nodes[n.Name] != nil {
			continue
		}
		all[i] = member{Node: n, set: set, index: index, power: n.State.Power()}
		s.nodes[n.Name] = &all[i]
		s.members = append(s.members, &all[i])
	}
	slices.SortFunc(s.members, func(a, b *member) int {
		return cmp.Or(cmp.Compare(a.set.Name, b.set.Name), cmp.Compare(a.index, b.index))
	})
	for i, m := range s.members {
		m.at = i
	}
}

// owner is the job that the node is wanted for: of those that hold it and are not
// on their way out, the one with the first claim.
func (m *member) owner() *slurm.Job {
	for _, j := range m.jobs {
		if j.State != slurm.JobCompleting {
			return j
		}
	}
	return nil
}

// idle reports whether the node is idle and nobody has taken it out of service.
func (m *member) idle() bool {
	return m.State.IsIdle() && !m.State.Held() && !m.State.Has(slurm.Drain) && !m.State.Has(slurm.Fail) &&
		!m.State.Has(slurm.Maintenance)
}

// taken reports whether a job holds the node, or may.
func (m *member) taken() bool { return len(m.jobs) > 0 || m.doubted }

// holders returns the jobs that hold any of the nodes.
func (s *scene) holders(nodes []string) []*slurm.Job {
	var jobs []*slurm.Job
	for _, name := range nodes {
		jobs = s.nodes[name].addJobs(jobs)
	}
	return jobs
}

// addJobs adds the jobs that hold the node to those that are known already.
func (m *member) addJobs(known []*slurm.Job) []*slurm.Job {
	for _, j := range m.jobs {
		if !slices.Contains(known, j) {
			known = append(known, j)
		}
	}
	return known
}

// isUnread reports whether something in the cloud that concerns the node could
// not be read or its whole region could not.
func (s *scene) isUnread(m *member) bool { return s.unseen(m.set.Region) || s.unread[m.Name] != "" }
