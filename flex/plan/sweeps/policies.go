package sweeps

import (
	"cmp"
	"slices"

	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/demand"
	"slurmflex/flex/plan/rules"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
)

// deletePolicies deletes our workload policies that no group uses. It deletes none in an unread
// region, where the group may only be unseen.
func deletePolicies(w *demand.Wanted, _ []rules.Verdict) (s Step) {
	policies := slices.SortedFunc(slices.Values(w.Seen.Policies), func(a, b mig.Policy) int {
		return cmp.Or(cmp.Compare(a.Region, b.Region), cmp.Compare(a.Name, b.Name))
	})
	for _, p := range policies {
		key := mig.GroupID{Region: p.Region, Name: p.Name}
		if p.Unread != "" {
			s.Problems = append(s.Problems, scene.NewProblem("unread-policy", p.Name, "workload policy %s in %s is left alone, because it cannot be read; if this lasts, delete it once no job uses it: %s", p.Name, p.Region, p.Unread))
			continue
		}
		if p.Stamp.Cluster == w.Config.Cluster && !w.GroupOf[key] && w.Group(key) == nil && !isUsed(w.Scene, p) && w.UnreadGroup(key) == "" && !w.Unseen(p.Region) && w.Seen.UnseenPolicies[p.Region] == nil &&
			!isYoung(w.Scene, &s, "workload policy "+p.Name, p.Created) {
			s.Actions = append(s.Actions, action.DeletePolicy{Of: action.Of{Group: key}, Why: "its group is gone"})
		}
	}
	return s
}

// isUsed reports whether a group uses the policy.
func isUsed(s *scene.Scene, p mig.Policy) bool {
	return slices.ContainsFunc(s.Seen.Groups, func(g mig.Group) bool { return g.Region == p.Region && g.Policy == p.Name })
}
