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
func adopt(s *scene.Scene, b *budget) (actions []action.Action) {
	groups := slices.SortedFunc(slices.Values(s.Seen.Foreign), func(a, b mig.Group) int { return a.ID().Compare(b.ID()) })
	for _, g := range groups {
		if s.Unseen(g.Region) || g.Unread != "" || !leftOf(s, g) || !s.IsOld(g.Created, youngAge) {
			continue
		}
		const why = "slurm-gcp has left it, and no node needs it"
		live := g.Live()
		for _, r := range live {
			if r.State == mig.Accepted && !anyWanted(s, r.Instances) {
				actions = append(actions, action.CancelRequest{Of: action.ForGroup(&g), Request: r.Name, Why: why})
			}
		}
		actions = append(actions, offIn(s, g, b)...)
		if len(live) == 0 && s.InGroup(g.ID()) == 0 && !unaccounted(s, g) && !s.MayHold(&g) {
			actions = append(actions, action.DeleteGroup{Of: action.ForGroup(&g), Why: why})
		}
	}
	return actions
}

// leftOf reports whether the group's name shows that it was created for one of the cluster's flex
// nodesets, in the same region.
func leftOf(s *scene.Scene, g mig.Group) bool {
	name, _, ok := mig.ParseForeign(s.Config.Cluster, g.Name)
	return ok && slices.ContainsFunc(s.Config.FlexSets(), func(n *config.NodeSet) bool {
		return n.Name == name && n.Region == g.Region
	})
}

// offIn deletes the group's instances on nodes that are powered down and that no job holds.
func offIn(s *scene.Scene, g mig.Group, b *budget) (actions []action.Action) {
	const asked, unasked = "slurm-gcp has left them, and Slurm has powered their nodes down", "slurm-gcp has left them, and their nodes are powered down"
	off := map[action.Why][]mig.Instance{}
	for _, in := range s.Machines() {
		m := in.Node
		if in.GroupID() != g.ID() || in.Leaving() || in.Unread != "" || s.IsOutsider(*in.Instance) || m == nil || m.Power != scene.Off || m.Taken() {
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
			actions = append(actions, action.DeleteInstances{Of: action.ForGroup(&g), Instances: off[why], Why: why})
		}
	}
	return actions
}

func anyWanted(s *scene.Scene, nodes []string) bool {
	return slices.ContainsFunc(nodes, func(n string) bool { return s.Node(n) == nil || s.Node(n).Power != scene.Off })
}
