package plan

import (
	"cmp"
	"slices"

	"slurmflex/config"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
)

// Adopt plans the removal of the groups that slurm-gcp's scripts have left for
// the cluster's flex nodesets: foreign are the groups that bear its names and
// no stamp. Their requests are cancelled unless a node that they name is wanted,
// their machines are deleted when Slurm has powered the nodes down; a group goes
// when it holds nothing, and no node that is in use could have its machine there
// unseen.
func Adopt(s *scene.Scene, foreign []mig.Group) (actions []Action) {
	b := budget{left: s.Config.Options.MaxDeletions}
	groups := slices.SortedFunc(slices.Values(foreign), func(a, b mig.Group) int {
		return cmp.Or(cmp.Compare(a.Region, b.Region), cmp.Compare(a.Name, b.Name))
	})
	for _, g := range groups {
		if s.Unseen(g.Region) || g.Unread != "" || !leftOf(s, g) || !s.IsOld(g.Created, youngAge) {
			continue
		}
		const why = "slurm-gcp has left it, and no node needs it"
		live := g.Live()
		for _, r := range live {
			if r.State == mig.Accepted && !anyWanted(s, r.Instances) {
				actions = append(actions, CancelRequest{Of: of(&g), Request: r.Name, Why: why})
			}
		}
		if gone := offIn(s, g, &b); len(gone) > 0 {
			actions = append(actions, DeleteInstances{Of: of(&g), Instances: gone, Why: "slurm-gcp has left them, and Slurm has powered their nodes down"})
		}
		if len(live) == 0 && s.InGroup(g.ID()) == 0 && !unaccounted(s, g) && !s.MayHold(&g) {
			actions = append(actions, DeleteGroup{Of: of(&g), Why: why})
		}
	}
	return actions
}

// leftOf reports whether the group's name says that it was made for one of the
// cluster's flex nodesets, of the same region.
func leftOf(s *scene.Scene, g mig.Group) bool {
	name, _, ok := mig.ParseForeign(s.Config.Cluster, g.Name)
	return ok && slices.ContainsFunc(s.Config.FlexSets(), func(n *config.NodeSet) bool {
		return n.Name == name && n.Region == g.Region
	})
}

// offIn returns the group's instances whose nodes are powered down, and no job
// holds them.
func offIn(s *scene.Scene, g mig.Group, b *budget) []mig.Instance {
	var off []mig.Instance
	for _, in := range s.Machines() {
		if m := in.Node; in.Group == g.Name && in.Region == g.Region && !in.Leaving() && in.Unread == "" &&
			m != nil && m.Power == scene.Off && !m.Taken() &&
			(m.IsPoweredDown(in) || b.unasked("its node is powered down, and Slurm does not know that it ever was up") != "") {
			off = append(off, *in.Instance)
		}
	}
	return off
}

func anyWanted(s *scene.Scene, nodes []string) bool {
	return slices.ContainsFunc(nodes, func(n string) bool { return s.Node(n) == nil || s.Node(n).Power != scene.Off })
}
