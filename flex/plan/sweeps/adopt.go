package sweeps

import (
	"slices"

	"slurmflex/config"
	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
)

// adopt removes the groups that slurm-gcp's scripts have left for the cluster's flex nodesets; see
// Snapshot.Foreign. It cancels their requests unless a job needs a node that they name, and deletes
// their machines once Slurm has powered the nodes down. It deletes an empty group unless the group
// could contain the unseen machine of a node in use.
func (b *budget) adopt() {
	groups := slices.SortedFunc(slices.Values(b.Seen.Foreign), func(a, b mig.Group) int { return a.ID().Compare(b.ID()) })
	for _, g := range groups {
		if b.Unseen(g.Region) || g.Unread != "" || !leftOf(b.Scene, g) || !b.IsOld(g.Created, youngAge) {
			continue
		}
		const why = "slurm-gcp has left it, and no node needs it"
		live := g.Live()
		for _, r := range live {
			if r.State == mig.Accepted && !anyWanted(b.Scene, r.Instances) {
				b.do(action.CancelRequest{Of: action.ForGroup(&g), Request: r.Name, Why: why})
			}
		}
		b.deleteOff(g)
		if of := b.Group(g.ID()); len(live) == 0 && of.Shown == 0 && !unaccounted(b.Scene, g) && !of.MayHold {
			b.do(action.DeleteGroup{Of: action.ForGroup(&g), Why: why})
		}
	}
}

// leftOf reports whether the group's name shows that it was created for one of the cluster's flex
// nodesets, in the same region.
func leftOf(s *scene.Scene, g mig.Group) bool {
	name, _, ok := mig.ParseForeign(s.Config.Cluster, g.Name)
	return ok && slices.ContainsFunc(s.Config.FlexSets(), func(n *config.NodeSet) bool {
		return n.Name == name && n.Region == g.Region
	})
}

// deleteOff deletes the group's instances on nodes that are powered down and that no job holds.
func (b *budget) deleteOff(g mig.Group) {
	const asked, unasked = "slurm-gcp has left them, and Slurm has powered their nodes down", "slurm-gcp has left them, and their nodes are powered down"
	off := map[action.Why][]mig.Instance{}
	for _, in := range b.Machines {
		m := in.Node
		if in.GroupID() != g.ID() || in.Leaving() || in.Unread != "" || in.Outsider || m == nil || m.Power != scene.Off || m.Taken() {
			continue
		}
		why := action.Why(asked)
		if !m.IsPoweredDown(in) {
			why = action.Why(b.unasked(unasked))
		}
		if why != "" {
			off[why] = append(off[why], *in.Instance)
		}
	}
	for _, why := range []action.Why{asked, unasked} {
		if len(off[why]) > 0 {
			b.do(action.DeleteInstances{Of: action.ForGroup(&g), Instances: off[why], Why: why})
		}
	}
}

func anyWanted(s *scene.Scene, nodes []string) bool {
	return slices.ContainsFunc(nodes, func(n string) bool { return s.Node(n) == nil || s.Node(n).Power != scene.Off })
}
