package takedown

import (
	"cmp"
	"maps"
	"slices"

	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
)

// clear cancels requests, then deletes machines, groups and workload policies of nodes that no job
// holds. It keeps everything that could not be read or that a newer slurmflex made.
func (d *draft) clear() {
	for _, region := range slices.Sorted(maps.Keys(d.scene.Seen.Unseen)) {
		if d.usesRegion(region) {
			d.keep("the resources in %s are unknown: %v", region, d.scene.Seen.Unseen[region])
		}
	}
	machines := map[mig.GroupID][]scene.Machine{}
	var single []scene.Machine // without a group
	for _, in := range d.scene.Machines {
		switch {
		case d.scene.Seen.Unseen[in.Region] != nil:
		case in.Group != "":
			machines[in.GroupID()] = append(machines[in.GroupID()], in)
		case in.Belongs && d.isOurs(in.Stamp.NodeSet):
			single = append(single, in)
		}
	}
	groups := slices.SortedFunc(slices.Values(d.scene.Seen.Groups), func(a, b mig.Group) int { return a.ID().Compare(b.ID()) })
	there := map[mig.GroupID]bool{}
	for _, g := range groups {
		there[g.ID()] = true
		if d.isOursGroup(g) && d.scene.Seen.Unseen[g.Region] == nil {
			d.clearGroup(g, machines[g.ID()])
		}
	}
	d.deleteMachines(action.Of{}, single)
	d.deletePolicies(there)
}

// usesRegion reports whether the region may hold anything that the takedown deletes.
func (d *draft) usesRegion(region string) bool {
	for _, set := range d.scene.Config.FlexSets() {
		if set.Region == region && d.isOurs(set.Name) {
			return true
		}
	}
	return false
}

// isOursGroup reports whether the takedown deletes a group or may have to. The owner is unknown if
// the group could not be read or a newer slurmflex made it.
func (d *draft) isOursGroup(g mig.Group) bool {
	switch {
	case g.Stamp == mig.Stamp{}:
		return g.Unread != ""
	case g.Stamp.Cluster != d.scene.Config.Cluster:
		return false
	}
	return g.Stamp.Newer() || d.isOurs(g.Stamp.NodeSet)
}

// clearGroup tears down a group with its requests and machines.
func (d *draft) clearGroup(g mig.Group, machines []scene.Machine) {
	live := g.Live()
	d.plan.Left.Groups++
	d.plan.Left.Requests += len(live)
	switch {
	case g.Stamp.Newer():
		d.plan.Left.Instances += len(machines)
		d.keep("group %s in %s stays, because a newer slurmflex created it; run that version, or delete it", g.Name, g.Region)
		return
	case g.Unread != "":
		d.plan.Left.Instances += len(machines)
		d.keep("group %s in %s stays, because it cannot be read: %s", g.Name, g.Region, g.Unread)
		return
	}
	of := action.ForGroup(&g)
	for _, r := range live {
		switch {
		case r.State == mig.Creating:
			d.await("request %s/%s to be created", g.Name, r.Name)
		case len(r.Instances) == 0: // may create machines for any node
			d.do(action.CancelRequest{Of: of, Request: r.Name, Why: why}, d.setInUse(g.Stamp.NodeSet))
		default:
			d.do(action.CancelRequest{Of: of, Request: r.Name, Why: why}, d.anyInUse(r.Instances))
		}
	}
	d.deleteMachines(of, machines)
	d.do(action.DeleteGroup{Of: of, Why: why}, cmp.Or(d.groupInUse(g), d.holds(g, machines)))
}

// why is the reason for all actions in the cloud.
const why = action.Why("it is taken down")

// groupInUse returns the reason to keep a group, or "": a node in use that may get a machine from
// the group.
func (d *draft) groupInUse(g mig.Group) string {
	names := []string{g.Stamp.Node}
	for _, r := range g.Requests {
		names = append(names, r.Instances...)
	}
	for _, j := range d.jobs {
		if g.Stamp.IsFor(j.ID, j.Array(), j.User) {
			names = append(names, j.Nodes...)
		}
	}
	return d.anyInUse(names)
}

// holds returns the condition for deleting a group; empty if it can be deleted now. Members missing
// from all lists are deleted with the group, once no node of the nodeset is in use.
func (d *draft) holds(g mig.Group, machines []scene.Machine) string {
	if len(g.Live()) > 0 {
		return "its requests are cancelled"
	}
	if len(machines) > 0 {
		return "its machines are gone"
	}
	if hidden, _ := g.Hidden(0); hidden > 0 {
		return d.setInUse(g.Stamp.NodeSet)
	}
	return ""
}

// setInUse returns the result of inUse for the first node of the nodeset in use.
func (d *draft) setInUse(nodeset string) string {
	for _, n := range d.nodes {
		if n.Set.Name == nodeset {
			if once := d.inUse(n.Name); once != "" {
				return once
			}
		}
	}
	return ""
}

// deleteMachines deletes machines of one group, or machines without a group.
func (d *draft) deleteMachines(of action.Of, machines []scene.Machine) {
	later := map[string][]mig.Instance{}
	for _, in := range machines {
		d.plan.Left.Instances++
		switch once := d.inUse(in.Name); {
		case in.Unread != "":
			d.keep("instance %s in %s stays, because it cannot be read: %s", in.Name, in.Zone, in.Unread)
		case in.Leaving() && !in.Stopped():
			d.await("instance %s to be gone", in.Name)
		case in.Outsider:
			d.keep("%s", in.OutsiderProblem().Text)
		default:
			later[once] = append(later[once], *in.Instance)
		}
	}
	for _, once := range slices.Sorted(maps.Keys(later)) {
		if of == (action.Of{}) {
			d.do(action.DeleteVMs{Instances: later[once], Why: why}, once)
		} else {
			d.do(action.DeleteInstances{Of: of, Instances: later[once], Why: why}, once)
		}
	}
}

// deletePolicies deletes the workload policies of groups that no longer exist.
func (d *draft) deletePolicies(there map[mig.GroupID]bool) {
	for _, region := range slices.Sorted(maps.Keys(d.scene.Seen.UnseenPolicies)) {
		if d.usesRegion(region) && d.scene.Seen.Unseen[region] == nil {
			d.keep("the workload policies in %s are not known: %v", region, d.scene.Seen.UnseenPolicies[region])
		}
	}
	policies := slices.SortedFunc(slices.Values(d.scene.Seen.Policies), func(a, b mig.Policy) int {
		return cmp.Or(cmp.Compare(a.Region, b.Region), cmp.Compare(a.Name, b.Name))
	})
	for _, p := range policies {
		if d.scene.Seen.Unseen[p.Region] != nil || d.scene.Seen.UnseenPolicies[p.Region] != nil {
			continue
		}
		id, once := mig.GroupID{Region: p.Region, Name: p.Name}, ""
		if there[id] {
			once = "its group is gone"
		}
		switch {
		case p.Unread != "" && (p.Stamp == mig.Stamp{} || p.Stamp.Cluster == d.scene.Config.Cluster && d.isOurs(p.Stamp.NodeSet)):
			d.plan.Left.Policies++
			d.keep("workload policy %s in %s stays, because it cannot be read: %s", p.Name, p.Region, p.Unread)
		case p.Stamp.Cluster != d.scene.Config.Cluster || p.Stamp.Newer() || !d.isOurs(p.Stamp.NodeSet):
		default:
			d.plan.Left.Policies++
			d.do(action.DeletePolicy{Of: action.Of{Group: id}, Why: why}, once)
		}
	}
}
