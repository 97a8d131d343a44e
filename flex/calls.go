package flex

import "slurmflex/config"

// Calls is the nodes of one call by Slurm, by whom they concern.
type Calls struct {
	Ours    []string // of nodesets with dws_flex
	Others  []string // of nodesets that the configuration knows without it
	Unknown []string // of no nodeset
}

// Sort tells whom the nodes of a call concern.
func Sort(cfg *config.Config, names []string) Calls {
	var c Calls
	for _, name := range names {
		switch set, _, ok := cfg.Find(name); {
		case !ok:
			c.Unknown = append(c.Unknown, name)
		case set.Flex != nil:
			c.Ours = append(c.Ours, name)
		default:
			c.Others = append(c.Others, name)
		}
	}
	return c
}
