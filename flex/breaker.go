package flex

import (
	"context"
	"slices"

	"slurmflex/config"
	"slurmflex/flex/plan/memo"
	"slurmflex/slurm"
)

// Unblock lets the next pass request instances of a nodeset again after too many failed to boot. It
// returns the nodes with a cleared failure record. It fails if it cannot read a node that may belong
// to the nodeset.
func Unblock(ctx context.Context, s Scheduler, cfg *config.Config, nodeset string) ([]string, error) {
	var unread slurm.Unread
	nodes, err := s.Nodes(ctx)
	if err = unread.Take(err); err != nil {
		return nil, err
	}
	var names []string
	for _, n := range nodes {
		if set, _, ok := cfg.Find(n.Name); ok && set.Name == nodeset && memo.IsBoots(n.Extra) {
			names = append(names, n.Name)
		}
	}
	if len(names) > 0 {
		empty := ""
		if err := s.UpdateNodes(ctx, names, slurm.NodeChange{Extra: &empty}); err != nil {
			return names, err
		}
	}
	unread = slices.DeleteFunc(unread, func(row slurm.UnreadRow) bool {
		set, _, ok := cfg.Find(row.Name)
		return row.Name != "" && (!ok || set.Name != nodeset)
	})
	if len(unread) > 0 {
		return names, unread
	}
	return names, nil
}
