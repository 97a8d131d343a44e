package plan

import (
	"cmp"
	"fmt"
	"slices"

	"slurmflex/config"
	"slurmflex/mig"
)

// CreatePolicy makes the workload policy that places a group's nodes close
// together. It bears the group's name.
type CreatePolicy struct {
	Spec mig.PolicySpec
	Why
}

// DeletePolicy deletes a workload policy that no group uses.
type DeletePolicy struct {
	Region, Name string
	Why
}

func (a CreatePolicy) String() string {
	return fmt.Sprintf("create workload policy %s in %s", a.Spec.Name, a.Spec.Region)
}

func (a DeletePolicy) String() string { return "delete workload policy " + a.Name }

// Queue is the group's, so that a policy comes before its group.
func (a CreatePolicy) Queue() string { return a.Spec.Region + "/" + a.Spec.Name }
func (a DeletePolicy) Queue() string { return a.Region + "/" + a.Name }

// partSize is how many nodes of the nodeset one group may hold.
func (w *world) partSize(set *config.NodeSet) int {
	if set.Placement {
		if limit, _, ok := w.placement(set); ok {
			return min(limit, mig.MaxInstances)
		}
	}
	return mig.MaxInstances
}

// isUnsized reports whether nobody can say now how many nodes one group of the
// nodeset may hold, for its template has not been read.
func (w *world) isUnsized(set *config.NodeSet) bool {
	return set.Placement && w.snap.Templates[set.Template].MachineType == ""
}

func (w *world) placement(set *config.NodeSet) (limit int, distance string, ok bool) {
	return mig.PlacementLimit(w.snap.Templates[set.Template].MachineType, set.PlacementDistance)
}

// placementFits reports whether the cohort's machines can be placed as the
// nodeset wants them.
func (w *world) placementFits(c *cohort) bool {
	if !c.set.Placement {
		return true
	}
	if err := w.snap.UnseenPolicies[c.set.Region]; err != nil {
		c.pause = err.Error()
		w.problem(fmt.Sprintf("%s waits: %v", c.group, err))
		return false
	}
	if _, _, ok := w.placement(c.set); !ok {
		w.giveBack(c, Hold, true, fmt.Sprintf("nodeset %s: enable_placement with placement_max_distance %d is not to be had for %s; set it to false",
			c.set.Name, c.set.PlacementDistance, w.machineType(c)))
		return false
	}
	return true
}

// createGroup plans the cohort's group, and before it the policy that it needs.
func (w *world) createGroup(c *cohort) {
	spec := mig.GroupSpec{Name: c.group, Region: c.set.Region, Template: c.set.Template, Zones: c.set.Zones, Stamp: c.stamp}
	if c.set.Placement {
		spec.Policy = c.group
		exists := slices.ContainsFunc(w.snap.Policies, func(p mig.Policy) bool {
			return p.Region == c.set.Region && p.Name == c.group
		})
		if !exists {
			_, distance, _ := w.placement(c.set)
			w.add(CreatePolicy{Spec: mig.PolicySpec{
				Name: c.group, Region: c.set.Region, Distance: distance, Stamp: c.stamp,
			}, Why: c.why()})
		}
	}
	w.add(CreateGroup{Spec: spec, Why: c.why()})
}

// deletePolicies deletes the workload policies of ours whose group is gone. In
// a region that could not be read it may only be unseen.
func (w *world) deletePolicies(wanted map[string]bool) {
	policies := slices.SortedFunc(slices.Values(w.snap.Policies), func(a, b mig.Policy) int {
		return cmp.Or(cmp.Compare(a.Region, b.Region), cmp.Compare(a.Name, b.Name))
	})
	for _, p := range policies {
		key := p.Region + "/" + p.Name
		if p.Unread != "" {
			w.problem(fmt.Sprintf("workload policy %s in %s is left alone, because it cannot be read: %s", p.Name, p.Region, p.Unread))
			continue
		}
		if p.Stamp.Cluster == w.cfg.Cluster && !wanted[key] && w.groups[key] == nil && w.unread[key] == "" && !w.unseen(p.Region) && w.snap.UnseenPolicies[p.Region] == nil &&
			!w.isYoung("workload policy "+p.Name, p.Created) {
			w.add(DeletePolicy{Region: p.Region, Name: p.Name, Why: "its group is gone"})
		}
	}
}
