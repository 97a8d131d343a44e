package plan

import (
	"cmp"
	"slices"

	"slurmflex/config"
	"slurmflex/mig"
)

// Adopt plans the removal of the groups that slurm-gcp's scripts have left for
// the cluster's flex nodesets: foreign are the groups that bear its names and
// no stamp. Their requests are cancelled unless a node that they name is wanted;
// a group goes when it holds nothing, and no node that is in use could have its
// machine there unseen.
func Adopt(cfg *config.Config, snap Snapshot, foreign []mig.Group) []Action {
	w := look(cfg, snap)
	w.cohorts()
	groups := slices.SortedFunc(slices.Values(foreign), func(a, b mig.Group) int {
		return cmp.Or(cmp.Compare(a.Region, b.Region), cmp.Compare(a.Name, b.Name))
	})
	for _, g := range groups {
		if w.unseen(g.Region) || !w.leftOf(g) {
			continue
		}
		const why = "slurm-gcp has left it, and no node needs it"
		live := g.Live()
		for _, r := range live {
			if r.State == mig.Accepted && !w.anyWanted(r.Instances) {
				w.add(CancelRequest{Region: g.Region, Group: g.Name, Request: r.Name, Why: why})
			}
		}
		if len(live) == 0 && w.inGroup[g.Region+"/"+g.Name] == 0 && !w.unaccounted(g) {
			w.add(DeleteGroup{Region: g.Region, Group: g.Name, Why: why})
		}
	}
	return w.plan.Actions
}

// leftOf reports whether the group's name says that it was made for one of the
// cluster's flex nodesets, of the same region.
func (w *world) leftOf(g mig.Group) bool {
	name, _, ok := mig.ParseForeign(w.cfg.Cluster, g.Name)
	return ok && slices.ContainsFunc(w.cfg.NodeSets, func(n *config.NodeSet) bool {
		return n.Name == name && n.Flex != nil && n.Region == g.Region
	})
}

func (w *world) anyWanted(nodes []string) bool {
	return slices.ContainsFunc(nodes, func(n string) bool { return w.nodes[n] == nil || w.nodes[n].power != down })
}
