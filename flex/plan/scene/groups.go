package scene

import (
	"cmp"
	"slices"
	"time"

	"slurmflex/mig"
	"slurmflex/slurm"
)

// Live is a live request and its group.
type Live struct {
	Group   *mig.Group
	Request *mig.Request
}

func (s builder) addGroup(g *mig.Group) {
	if g.Stamp.Cluster != s.Config.Cluster {
		// The reader leaves these groups out; slurmflex never touches a group that is not ours.
		return
	}
	r := noted(s.groups, g.ID())
	r.owned = g
	switch {
	case g.Stamp.Newer():
		s.Problems.Add("newer-group", g.Name, "group %s in %s is left alone because a newer slurmflex created it; run that version, or delete it when its jobs are done", g.Name, g.Region)
	case g.Unread == "": // otherwise see noteUnread
		r.usable = g
	}
}

// sortGroups fills in the lists of groups, and what their requests name in that order.
func (s builder) sortGroups() {
	for i := range s.Seen.Groups {
		if g := &s.Seen.Groups[i]; s.Owned(g.ID()) == g {
			s.Groups = append(s.Groups, g)
		}
	}
	byID := func(a, b *mig.Group) int { return a.ID().Compare(b.ID()) }
	if !slices.IsSortedFunc(s.Groups, byID) {
		slices.SortFunc(s.Groups, byID)
	}
	for _, g := range s.Groups {
		if s.Group(g.ID()) != nil {
			s.UsableGroups = append(s.UsableGroups, g)
			s.addRequests(g)
		}
	}
}

// addRequests notes the group's live requests at the instances that they name.
func (s builder) addRequests(g *mig.Group) {
	for i := range g.Requests {
		r := &g.Requests[i]
		if !r.State.Live() {
			continue
		}
		one := []Live{{g, r}}
		for _, name := range r.Instances {
			if of := s.note(name); of.Requests == nil {
				of.Requests = one // all names share this slice: appending to it makes a copy
			} else {
				of.Requests = append(of.Requests, one...)
			}
		}
	}
}

// lostAfter is the age at which a requested instance that no list shows counts as lost. Compute's
// lists can lag behind each other.
const lostAfter = 10 * time.Minute

// Miscounted returns the groups that count more or fewer members than the instances and requests
// show. Only the group itself can name its members.
//
// More: the group is not creating them. An instance may be missing from every list for now, may
// show without its group, or may be lost. A group may or may not count an instance that is being
// deleted, so such an instance does not account for another.
//
// Fewer: an instance names the group and is not its member; see Machine.Outsider. An instance that a live
// request creates does not count, because it may show before the group counts it.
func (s *Snapshot) Miscounted(groups []mig.Group) []mig.Group {
	asked := map[string]mig.GroupID{}
	for _, g := range groups {
		for _, r := range g.Live() {
			for _, name := range r.Instances {
				asked[name] = g.ID()
			}
		}
	}
	staying, old := map[mig.GroupID]int{}, map[mig.GroupID]int{}
	for _, in := range s.Instances {
		id := in.GroupID()
		if !in.Leaving() {
			staying[id]++
		}
		if by, is := asked[in.Name]; (!in.Leaving() || in.Stopped()) && (!is || by != id) {
			old[id]++
		}
	}
	var miscounted []mig.Group
	for _, g := range groups {
		more, creating := g.Hidden(staying[g.ID()])
		less, _ := g.Hidden(old[g.ID()])
		if more > 0 && !creating || less < 0 && old[g.ID()] > 0 {
			miscounted = append(miscounted, g)
		}
	}
	return miscounted
}

// Outsider returns the problem of an instance that is an Outsider of its group.
func Outsider(in Machine) Problem {
	return NewProblem("not-a-member", in.Name, "instance %s in %s is not a member of group %s, which its metadata names as its creator, and stays: "+
		"delete it when it is not needed (gcloud compute instances delete %[1]s --zone %[2]s)", in.Name, in.Zone, in.Group)
}

// Hidden returns how many members the group counts beyond those that the list shows, and whether
// the group is creating them; see mig.Group.Hidden.
func (s *Scene) Hidden(g *mig.Group) (members int, creating bool) {
	return g.Hidden(known(s.groups, g.ID()).staying)
}

// MembersOf returns the members that a miscounted group names. It reports false if they were not
// read.
func (s *Scene) MembersOf(g *mig.Group) ([]mig.Member, bool) {
	m, read := s.Seen.Members[g.ID()]
	return m.All, read && m.Err == nil
}

// Creates reports whether the group has a request that does not show yet.
func (s *Scene) Creates(g *mig.Group) bool {
	members, creating := s.Hidden(g)
	return members > 0 && creating
}

// noteHidden records the names of instances that the group may have although no list shows them:
// members that the group does not report as lost, and instances of recent requests. A member has
// existed if its node is up or has booted since the request. Such a member counts as lost as soon
// as the group reports it as lost, or, if its node is up, once both the group and the list show it
// as broken. If the group's members were not read, the node in its stamp counts too, as does each
// node of its nodeset that no other job holds: the group's own job may have been requeued since.
func (s builder) noteHidden(g *mig.Group) {
	if n, _ := s.Hidden(g); n <= 0 {
		return
	}
	members, read := s.MembersOf(g)
	gone, lost := map[string]bool{}, map[string]bool{}
	for _, m := range members {
		lost[m.Name] = m.Lost()
		n := s.Node(m.Name)
		broken := (mig.Instance{Status: m.Status}).Broken() && n != nil && slices.ContainsFunc(n.Machines, func(in Machine) bool {
			return in.GroupID() == g.ID() && in.Broken()
		})
		switch {
		case n != nil && n.Power == On && n.State.Base != slurm.Down && (m.Lost() || broken):
			gone[m.Name] = true
		case !m.Lost():
			s.note(m.Name).MayShow = true
		}
	}
	for _, r := range g.Requests {
		if r.State == mig.Succeeded && (!read || !s.IsOld(r.Created, lostAfter)) {
			for _, name := range r.Instances {
				if !gone[name] && !(lost[name] && s.hasBootedSince(name, r.Created)) {
					s.note(name).MayShow = true
				}
			}
		}
	}
	if read {
		return
	}
	for _, m := range s.Nodes { // the records of its requests may be gone
		of := func(j *slurm.Job) bool { return IsFor(g.Stamp, j) }
		if m.Name == g.Stamp.Node || g.Stamp.ForJobs() && m.Set.Name == g.Stamp.NodeSet && (len(m.Holders) == 0 || slices.ContainsFunc(m.Holders, of)) {
			s.note(m.Name).MayShow = true
		}
	}
}

// hasBootedSince reports whether the node's slurmd has registered from a machine that booted after
// that time. slurmctld keeps the boot time when the node is powered down. Source:
// validate_node_specs in slurmctld's node_mgr.c.
func (s builder) hasBootedSince(node string, at time.Time) bool {
	m := s.Node(node)
	return m != nil && m.BootTime.After(at) && s.Seen.Skew <= MaxSkew
}

// MayHold reports whether the group counts hidden members that it does not report as lost. Deleting
// the group would delete these members too, so slurmflex deletes each one separately once it shows.
func (s *Scene) MayHold(g *mig.Group) bool {
	if n, _ := s.Hidden(g); n <= 0 {
		return false
	}
	members, read := s.MembersOf(g)
	return !read || slices.ContainsFunc(members, func(m mig.Member) bool { return !m.Lost() })
}

// LiveRequests returns all live requests of usable groups, oldest first.
func (s *Scene) LiveRequests() []Live {
	var live []Live
	for _, g := range s.UsableGroups {
		for i := range g.Requests {
			if r := &g.Requests[i]; r.State.Live() {
				live = append(live, Live{g, r})
			}
		}
	}
	slices.SortFunc(live, func(a, b Live) int {
		return cmp.Or(a.Request.Created.Compare(b.Request.Created),
			cmp.Compare(a.Group.Region, b.Group.Region), cmp.Compare(a.Group.Name, b.Group.Name), cmp.Compare(a.Request.Name, b.Request.Name))
	})
	return live
}

// IsNew reports whether the request may have created the instance: the instance is younger than the
// request, and no group of ours that counts the instance has created it. An instance may show
// before its group does.
func (s *Scene) IsNew(in Machine, r Live) bool {
	if in.Maker != nil {
		n, _ := s.Hidden(in.Maker)
		return n < 0 // it shows more instances than it counts
	}
	return !in.Ours && !in.Created.Before(r.Request.Created) && !s.IsOld(in.Created, lostAfter)
}

// IsFor reports whether a resource with the stamp was created for the job.
func IsFor(stamp mig.Stamp, j *slurm.Job) bool { return stamp.IsFor(j.ID, j.Array(), j.User) }

// Group returns a usable group of the cluster; nil if no usable group has that name. See
// UsableGroups.
func (s *Scene) Group(id mig.GroupID) *mig.Group { return known(s.groups, id).usable }

// Owned returns a group of the cluster, usable or not; nil if the cluster lacks a group with that
// name.
func (s *Scene) Owned(id mig.GroupID) *mig.Group { return known(s.groups, id).owned }

// InGroup counts the instances that the list shows in a group.
func (s *Scene) InGroup(id mig.GroupID) int { return known(s.groups, id).shown }

// IsAhead reports whether a group of the nodeset has a request that does not show yet.
func (s *Scene) IsAhead(nodeset string) bool { return known(s.sets, nodeset).ahead }
