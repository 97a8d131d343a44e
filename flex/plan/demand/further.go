package demand

import (
	"slices"
	"time"

	"slurmflex/config"
	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
)

// placeFurther makes further doors for jobs that have one, in other nodesets where they are certain
// to fit: Slurm's plan shows only the first. Further doors take only nodes that no job lacks.
func (h *handout) placeFurther(s *scene.Scene, sets map[*config.NodeSet]bool, jobs []*slurm.Job) {
	for places := 1; places < s.Config.Options.MaxPartitions; places++ {
		for _, j := range jobs {
			doors := s.DoorsOf(j.ID)
			if len(h.Wants) >= doorsAtOnce || len(doors) != places || j.HetID != 0 || j.IsTasks() || h.hasWant(j) ||
				slices.ContainsFunc(doors, func(d *scene.Door) bool { return !isStillBooting(s, d) || AnyPresent(s, d.Nodes) }) {
				continue
			}
			for _, set := range further(s, sets, j, doors) {
				names := h.fitting(s, set, j, nil)
				if len(names) < j.NodeCount || h.short[set] != nil || h.limits.obstacleElsewhere(j, doors[0], set) != "" {
					continue
				}
				h.take(Want{Job: j, Address: j.Address(), Set: set, Nodes: names[:j.NodeCount], Further: true})
				break
			}
		}
	}
}

// further returns the nodesets where the job may get another door now, in the order of its partition
// list. failover_after of each nodeset delays the nodesets after it. on_demand_after delays
// on_demand nodesets wherever they are in the list, because Slurm reorders the list of a requeued
// job. The delays count from the job's first door.
func further(s *scene.Scene, sets map[*config.NodeSet]bool, j *slurm.Job, doors []*scene.Door) (list []*config.NodeSet) {
	first := s.Seen.Now
	has := map[*config.NodeSet]bool{}
	partitions := map[string]bool{}
	for _, d := range doors {
		first = earlier(first, d.At)
		if m := s.Node(d.Nodes[0]); m != nil {
			has[m.Set] = true
			all, _ := partitionsWith(s, j, m.Set)
			for _, p := range all {
				partitions[p.Name] = true
			}
		}
	}
	places := PlacesOf(s, sets, j)
	waited, delay := s.Seen.Now.Sub(first), time.Duration(0)
	for _, set := range places {
		inOne, _ := partitionsWith(s, j, set)
		isElsewhere := slices.ContainsFunc(inOne, func(p slurm.Partition) bool { return !partitions[p.Name] })
		if !has[set] && isElsewhere && !isDear(s, places, set, waited) && waited >= delay && surelyTakes(s, j, set) {
			list = append(list, set)
		}
		delay += set.Flex.FailoverAfter
	}
	return list
}
