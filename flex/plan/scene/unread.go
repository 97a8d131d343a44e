package scene

import (
	"slices"

	"slurmflex/mig"
	"slurmflex/slurm"
)

// skipRows records what is known of unreadable rows. A job holds the nodes in its row. If the row's
// nodes are unreadable too, the job may hold every node that is not certainly free.
func (s builder) skipRows() {
	for _, row := range s.Seen.Unread {
		s.Problems.Add("unread-row", row.Kind+" "+row.Name, "a row of Slurm's output was skipped: %s", row)
		s.anyHold = s.anyHold || row.Kind == slurm.ReservationRow
		if row.Kind != slurm.JobRow {
			continue
		}
		switch id := row.Job(); {
		case id == 0:
			s.anyJob = true
		case s.Jobs[id] == nil:
			s.Jobs[id] = nil // the job is in the queue
		}
		if row.State != "" && !row.State.HoldsNodes() {
			continue
		}
		if !row.NodesKnown {
			s.anyNode = true
			for _, m := range s.Nodes {
				m.Doubted = m.Doubted || !s.isFree(m)
			}
		}
		for _, name := range row.Nodes {
			s.note(name).Doubted = true
		}
	}
}

// isFree reports whether no unreadable job can hold the node: Slurm shows the node powered down and
// without a job, or a readable job holds it exclusively.
func (s builder) isFree(m *Node) bool {
	return m.Power == Off && !m.State.Held() || slices.ContainsFunc(m.Holders, func(j *slurm.Job) bool {
		return j.State != slurm.JobCompleting && slices.ContainsFunc(s.Seen.Partitions, func(p slurm.Partition) bool {
			return p.Name == j.Partition && p.Exclusive
		})
	})
}

// noteUnread records the groups and instances with an unreadable part, and the nodes that they may
// concern. Unread does not mean absent: slurmflex requests nothing for these nodes and takes
// nothing from them.
func (s builder) noteUnread() {
	for name, region := range s.hidden {
		if m := s.Node(name); m != nil && !s.Unseen(m.Set.Region) {
			m.Unread = "region " + region + ", where " + name + " had a machine or request, could not be read"
		}
	}
	for _, in := range s.Machines {
		if in.Unread != "" {
			s.note(in.Name).Unread = s.Problems.Add("unread-instance", in.Name, "instance %s in %s is left alone, because it cannot be read; if this lasts, delete it once no job uses it: %s", in.Name, in.Zone, in.Unread)
		}
	}
	byID := func(a, b mig.Group) int { return a.ID().Compare(b.ID()) }
	for _, g := range slices.SortedFunc(slices.Values(s.Seen.Groups), byID) { // also those with an unreadable stamp
		if g.Unread == "" || g.Stamp.Newer() {
			continue
		}
		what := s.Problems.Add("unread-group", g.Name, "group %s in %s is left alone, because it cannot be read; if this lasts, delete it once no job uses it: %s", g.Name, g.Region, g.Unread)
		noted(s.groups, g.ID()).Unread = what
		for _, name := range s.concerns(g) {
			s.note(name).Unread = what
		}
	}
	for _, m := range s.Nodes {
		m.IsUnread = s.Unseen(m.Set.Region) || m.Unread != ""
	}
}

// concerns returns the nodes that a partly unreadable group may create machines for or may have
// created machines for.
func (s builder) concerns(g mig.Group) []string {
	var names []string
	for _, r := range g.Requests {
		if r.State != mig.Failed && r.State != mig.Cancelled {
			names = append(names, r.Instances...)
		}
	}
	if g.Stamp.Node != "" {
		names = append(names, g.Stamp.Node)
	}
	for _, j := range s.Seen.Jobs {
		if IsFor(g.Stamp, &j) && j.State.HoldsNodes() {
			names = append(names, j.Nodes...)
		}
	}
	return names
}

// isHidden reports whether the node's region could not be read, or the region where the node had a
// machine or request before its nodeset was moved.
func (s *Scene) isHidden(m *Node) bool { return s.Unseen(m.Set.Region) || s.hidden[m.Name] != "" }
