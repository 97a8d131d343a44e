package demand

import (
	"slices"
	"time"

	"slurmflex/config"
	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
)

// MostPlaces is the number of partitions where machines are requested for a pending job at once.
const MostPlaces = 3

// placeFurther makes further doors for jobs that have one, in other nodesets where they are certain
// to fit: Slurm's plan shows only the first. Further doors take only nodes that no job lacks.
func (h *handout) placeFurther() {
	for places := 1; places < MostPlaces; places++ {
		for _, j := range h.jobs {
			doors := h.DoorsOf(j.ID)
			if len(h.Wants) >= doorsAtOnce || len(doors) != places || j.HetID != 0 || j.IsTasks() || h.hasWant(j) || !h.lackMachines(doors) {
				continue
			}
			for _, set := range h.further(j, doors) {
				names, size := h.fitting(set, j, nil), sizeOf(h.Scene, j)
				if len(names) < size || h.isTaken(names[:size], j.Address()) || h.short[set] != nil || h.limits.obstacleElsewhere(j, doors[0], set) != "" {
					continue
				}
				h.take(want{Job: j, Address: j.Address(), Set: set, Nodes: names[:size], Further: true})
				break
			}
		}
	}
}

// further returns the nodesets where the job may get another door now, in the order of its partition
// list. failover_after of each nodeset delays the nodesets after it. on_demand_after delays
// on_demand nodesets wherever they are in the list, because Slurm reorders the list of a requeued
// job. The delays count from the job's first door.
func (h *handout) further(j *slurm.Job, doors []*scene.Door) (list []*config.NodeSet) {
	first := h.Seen.Now
	has := map[*config.NodeSet]bool{}
	partitions := map[string]bool{}
	for _, d := range doors {
		first = scene.Earlier(first, d.At)
		if m := h.Node(d.Nodes[0]); m != nil {
			has[m.Set] = true
			all, _ := partitionsWith(h.Scene, j, m.Set)
			for _, p := range all {
				partitions[p.Name] = true
			}
		}
	}
	places := h.places(j)
	waited, delay := h.Seen.Now.Sub(first), time.Duration(0)
	for _, set := range places {
		inOne, _ := partitionsWith(h.Scene, j, set)
		isElsewhere := slices.ContainsFunc(inOne, func(p slurm.Partition) bool { return !partitions[p.Name] })
		if !has[set] && isElsewhere && !h.isDear(places, set, waited) && waited >= delay && h.surelyTakes(j, set) {
			list = append(list, set)
		}
		delay += set.Flex.FailoverAfter
	}
	return list
}
