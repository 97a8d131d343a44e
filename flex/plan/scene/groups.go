package scene

import (
	"cmp"
	"slices"
	"time"

	"slurmflex/mig"
	"slurmflex/slurm"
)

// Group is what a pass has seen of a managed instance group.
type Group struct {
	Owned  *mig.Group // nil: not one of the cluster's
	Usable *mig.Group // nil: not one of the cluster's, not read, or created by a newer slurmflex
	Unread string     // what could not be read about it; empty: all of it was read

	Shown   int  // the instances that the list shows in it
	staying int  // those that are not being deleted
	Hidden  int  // the members that it counts beyond those; negative: it counts fewer; see mig.Group.Hidden
	Creates bool // it creates hidden members: it has a request that does not show yet
	// It counts hidden members that it does not report as lost. Deleting the group would delete these
	// members too, so slurmflex deletes each one separately once it shows.
	MayHold bool
	Members []mig.Member // those that it names, if it was miscounted and they could be read

	namesMembers bool // its Members were read
}

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
	r.Owned = g
	switch {
	case g.Stamp.Newer():
		s.Problems.Add("newer-group", g.Name, "group %s in %s is left alone because a newer slurmflex created it; run that version, or delete it when its jobs are done", g.Name, g.Region)
	case g.Unread == "": // otherwise see noteUnread
		r.Usable = g
	}
}

// sortGroups fills in the lists of groups, and what their requests name in that order.
func (s builder) sortGroups() {
	for i := range s.Seen.Groups {
		if g := &s.Seen.Groups[i]; s.Group(g.ID()).Owned == g {
			s.Groups = append(s.Groups, g)
		}
	}
	byID := func(a, b *mig.Group) int { return a.ID().Compare(b.ID()) }
	slices.SortFunc(s.Groups, byID)
	for _, g := range s.Groups {
		if s.Group(g.ID()).Usable != nil {
			s.UsableGroups = append(s.UsableGroups, g)
			s.addRequests(g)
		}
	}
	slices.SortFunc(s.Live, func(a, b Live) int {
		return cmp.Or(a.Request.Created.Compare(b.Request.Created), byID(a.Group, b.Group), cmp.Compare(a.Request.Name, b.Request.Name))
	})
}

// addRequests notes the group's live requests at the instances that they name.
func (s builder) addRequests(g *mig.Group) {
	for i := range g.Requests {
		r := &g.Requests[i]
		if !r.State.Live() {
			continue
		}
		s.Live = append(s.Live, Live{g, r})
		for _, name := range r.Instances {
			of := s.note(name)
			of.Requests = append(of.Requests, Live{g, r})
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

// OutsiderProblem returns the problem of an instance that is an Outsider of its group.
func (in Machine) OutsiderProblem() Problem {
	return NewProblem("not-a-member", in.Name, "instance %s in %s is not a member of group %s, which its metadata names as its creator, and stays: "+
		"delete it when it is not needed (gcloud compute instances delete %[1]s --zone %[2]s)", in.Name, in.Zone, in.Group)
}

// countMembers compares what each group counts with what the list shows.
func (s builder) countMembers() {
	for _, g := range slices.Concat(s.Seen.Groups, s.Seen.Foreign) {
		of := noted(s.groups, g.ID())
		hidden, creating := g.Hidden(of.staying)
		of.Hidden, of.Creates = hidden, hidden > 0 && creating
		of.MayHold = of.Hidden > 0 && (!of.namesMembers || slices.ContainsFunc(of.Members, func(m mig.Member) bool { return !m.Lost() }))
	}
}

// noteHidden records the names of instances that the group may have although no list shows them:
// members that the group does not report as lost, and instances of recent requests. A member has
// existed if its node is up or has booted since the request. Such a member counts as lost as soon
// as the group reports it as lost, or, if its node is up, once both the group and the list show it
// as broken. If the group's members were not read, the node in its stamp counts too, as does each
// node of its nodeset that no other job holds: the group's own job may have been requeued since.
func (s builder) noteHidden(g *mig.Group) {
	of := s.Group(g.ID())
	if of.Hidden <= 0 {
		return
	}
	gone, lost := map[string]bool{}, map[string]bool{}
	for _, m := range of.Members {
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
		if r.State == mig.Succeeded && (!of.namesMembers || !s.IsOld(r.Created, lostAfter)) {
			for _, name := range r.Instances {
				if !gone[name] && !(lost[name] && s.hasBootedSince(name, r.Created)) {
					s.note(name).MayShow = true
				}
			}
		}
	}
	if of.namesMembers {
		return
	}
	for _, m := range s.Nodes { // the records of its requests may be gone
		served := func(j *slurm.Job) bool { return IsFor(g.Stamp, j) }
		if m.Name == g.Stamp.Node || g.Stamp.ForJobs() && m.Set.Name == g.Stamp.NodeSet && (len(m.Holders) == 0 || slices.ContainsFunc(m.Holders, served)) {
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

// IsNew reports whether the request may have created the instance: the instance is younger than the
// request, and no group of ours that counts the instance has created it. An instance may show
// before its group does.
func (s *Scene) IsNew(in Machine, r Live) bool {
	if in.Maker != nil {
		return s.Group(in.GroupID()).Hidden < 0 // it shows more instances than it counts
	}
	return !in.Ours && !in.Created.Before(r.Request.Created) && !s.IsOld(in.Created, lostAfter)
}

// IsFor reports whether a resource with the stamp was created for the job.
func IsFor(stamp mig.Stamp, j *slurm.Job) bool { return stamp.IsFor(j.ID, j.Array(), j.User) }

// Group returns what the pass has seen of the group with that name.
func (s *Scene) Group(id mig.GroupID) Group { return *cmp.Or(s.groups[id], &Group{}) }
