package flex

import (
	"context"

	"slurmflex/config"
	"slurmflex/flex/plan"
	"slurmflex/slurm"
)

// Unblock has instances of a nodeset asked for again, from the next round on,
// after too many did not come up. It returns the nodes whose record of that it
// has cleared.
func Unblock(ctx context.Context, s Scheduler, cfg *config.Config, nodeset string) ([]string, error) {
	nodes, err := s.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, n := range nodes {
		if set, _, ok := cfg.Find(n.Name); ok && set.Name == nodeset && plan.HasBootRecord(n) {
			names = append(names, n.Name)
		}
	}
	if len(names) == 0 {
		return nil, nil
	}
	empty := ""
	return names, s.UpdateNodes(ctx, names, slurm.NodeChange{Extra: &empty})
}
