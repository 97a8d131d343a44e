package sweeps

import (
	"cmp"
	"slices"

	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
)

// deletePolicies deletes our workload policies that no group uses. It deletes none in an unread
// region, where the group may only be unseen.
func deletePolicies(s *Step) {
	policies := slices.SortedFunc(slices.Values(s.Seen.Policies), func(a, b mig.Policy) int {
		return cmp.Or(cmp.Compare(a.Region, b.Region), cmp.Compare(a.Name, b.Name))
	})
	for _, p := range policies {
		key := mig.GroupID{Region: p.Region, Name: p.Name}
		if p.Unread != "" {
			s.Problems.Add("unread-policy", p.Name, "workload policy %s in %s is left alone, because it cannot be read; if this lasts, delete it once no job uses it: %s", p.Name, p.Region, p.Unread)
			continue
		}
		if p.Stamp.Cluster == s.Config.Cluster && !s.GroupOf[key] && s.Group(key).Usable == nil && !isUsed(s.Scene, p) && s.Group(key).Unread == "" && !s.Unseen(p.Region) && s.Seen.UnseenPolicies[p.Region] == nil &&
			!s.isYoung(p.Created) {
			s.do(action.DeletePolicy{Of: action.Of{Group: key}, Why: "its group is gone"})
		}
	}
}

// isUsed reports whether a group uses the policy.
func isUsed(s *scene.Scene, p mig.Policy) bool {
	return slices.ContainsFunc(s.Seen.Groups, func(g mig.Group) bool { return g.Region == p.Region && g.Policy == p.Name })
}
