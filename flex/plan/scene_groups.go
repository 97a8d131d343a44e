package plan

import (
	"cmp"
	"slices"
	"time"

	"slurmflex/mig"
	"slurmflex/slurm"
)

// ref is a live request and the group it is in.
type ref struct {
	group   *mig.Group
	request *mig.Request
}

func (s *scene) addGroup(g *mig.Group) {
	if g.Stamp.Cluster != s.cfg.Cluster {
		return // the reader leaves these out already; what is not ours is never touched
	}
	if g.Stamp.Newer() {
		s.leaveAlone("newer-group", g.Name, "group %s in %s is left alone because a newer slurmflex created it; run that version, or delete it when its jobs are done", g.Name, g.Region)
		return
	}
	if g.Unread != "" {
		return // see noteUnread
	}
	s.groups[g.ID()] = g
	for i := range g.Requests {
		r := &g.Requests[i]
		if !r.State.Live() {
			continue
		}
		s.active[g.Region]++
		s.activeOf[g.Stamp.NodeSet]++
		one := []ref{{g, r}}
		for _, name := range r.Instances {
			if s.requests[name] == nil {
				s.requests[name] = one // which all names share: appending to it makes a copy
			} else {
				s.requests[name] = append(s.requests[name], one...)
			}
		}
	}
}

// lostAfter is how long ago a request must have been made before an instance that
// it has brought and that does not show is taken for lost. Lists of Compute may
// lag behind each other.
const lostAfter = 10 * time.Minute

// Hidden returns the groups that count members of which neither an instance nor a
// request shows, and that are not creating them. Only the group itself can say what
// they are: instances that no list shows for now, that show without their group,
// or that are lost. An instance that is leaving may be counted or not, so it may
// not stand for another.
func (s *Snapshot) Hidden(groups []mig.Group) []mig.Group {
	shown := map[mig.GroupID]int{}
	for _, in := range s.Instances {
		if !in.Leaving() {
			shown[in.GroupID()]++
		}
	}
	var hidden []mig.Group
	for _, g := range groups {
		if members, creating := g.Hidden(shown[g.ID()]); members > 0 && !creating {
			hidden = append(hidden, g)
		}
	}
	return hidden
}

func (s *scene) hidden(g *mig.Group) (members int, creating bool) {
	return g.Hidden(s.staying[g.ID()])
}

// membersOf are those that a group which hides some says it has. It reports false
// if that is not known.
func (s *scene) membersOf(g *mig.Group) ([]mig.Member, bool) {
	m, read := s.snap.Members[g.ID()]
	return m.All, read && m.Err == nil
}

// countsLost reports whether the group says that it has lost an instance that it
// counts still. Compute keeps the place of a lost instance, and takes no other of
// that name into the group. Of one that is shared, the cohort's alone matters.
func (s *scene) countsLost(g *mig.Group, c *cohort) bool {
	members, creating := s.hidden(g)
	all, _ := s.membersOf(g)
	return members > 0 && !creating && slices.ContainsFunc(all, func(m mig.Member) bool {
		return m.Lost() && (!c.shares() || slices.Contains(c.nodes, m.Name))
	})
}

// isAhead reports whether the group has a request that does not show yet.
func (s *scene) isAhead(g *mig.Group) bool {
	members, creating := s.hidden(g)
	return members > 0 && creating
}

// noteHidden notes the instances that the group may have though none shows: those that
// it does not say are lost, and those that it was to get of late. One whose node is up has
// been there: it is lost as soon as the group says so, or says that it is broken, as the
// list does. While it says nothing, that is its node, and any of its nodeset that no other
// job has: its own job may have been requeued since.
func (s *scene) noteHidden(g *mig.Group) {
	if n, _ := s.hidden(g); n <= 0 {
		return
	}
	members, read := s.membersOf(g)
	gone := map[string]bool{}
	for _, m := range members {
		n := s.nodes[m.Name]
		broken := (mig.Instance{Status: m.Status}).Broken() && n != nil && slices.ContainsFunc(n.machines, func(in machine) bool {
			return in.GroupID() == g.ID() && in.Broken()
		})
		switch {
		case n != nil && n.power == up && n.State.Base != slurm.Down && (m.Lost() || broken):
			gone[m.Name] = true
		case !m.Lost():
			s.mayShow[m.Name] = true
		}
	}
	for _, r := range g.Requests {
		if r.State == mig.Succeeded && (!read || !s.isOld(r.Created, lostAfter)) {
			for _, name := range r.Instances {
				s.mayShow[name] = s.mayShow[name] || !gone[name]
			}
		}
	}
	if read {
		return
	}
	for _, m := range s.members { // the records of its requests may be gone
		of := func(j *slurm.Job) bool { return isFor(g.Stamp, j) }
		if m.Name == g.Stamp.Node || (g.Stamp.Job != 0 || g.Stamp.Array != 0) && m.set.Name == g.Stamp.NodeSet && (len(m.jobs) == 0 || slices.ContainsFunc(m.jobs, of)) {
			s.mayShow[m.Name] = true
		}
	}
}

// mayHold reports whether the group counts members that it does not say are lost.
// They would go with it: they are deleted each by itself, once they show.
func (s *scene) mayHold(g *mig.Group) bool {
	if n, _ := s.hidden(g); n <= 0 {
		return false
	}
	members, read := s.membersOf(g)
	return !read || slices.ContainsFunc(members, func(m mig.Member) bool { return !m.Lost() })
}

// liveRequests returns every live request, the oldest first.
func (s *scene) liveRequests() []ref {
	var live []ref
	for _, g := range s.groups {
		for i := range g.Requests {
			if r := &g.Requests[i]; r.State.Live() {
				live = append(live, ref{g, r})
			}
		}
	}
	slices.SortFunc(live, func(a, b ref) int {
		return cmp.Or(a.request.Created.Compare(b.request.Created),
			cmp.Compare(a.group.Region, b.group.Region), cmp.Compare(a.group.Name, b.group.Name), cmp.Compare(a.request.Name, b.request.Name))
	})
	return live
}

// isNew reports whether the instance may be what the request brings: it is younger,
// and no group of ours that counts it says that it has made it. An instance may show
// before its maker does.
func (s *scene) isNew(in machine, r ref) bool {
	if in.group != nil {
		n, _ := s.hidden(in.group)
		return n < 0 // it shows more instances than it counts
	}
	return !s.ours(in) && !in.Created.Before(r.request.Created) && !s.isOld(in.Created, lostAfter)
}

// isNewers reports whether a group that a newer slurmflex has made for this cluster
// has made the instance.
func (s *scene) isNewers(in machine) bool {
	return slices.ContainsFunc(s.snap.Groups, func(g mig.Group) bool {
		return g.Name == in.Group && g.Region == in.Region && g.Stamp.Cluster == s.cfg.Cluster && g.Stamp.Newer()
	})
}
