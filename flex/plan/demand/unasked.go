package demand

import (
	"fmt"
	"slices"

	"slurmflex/config"
	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
)

// closedPartition is the obstacle for a job whose partition starts no jobs.
const closedPartition = "its partition starts no jobs now (State=DOWN or INACTIVE)"

// holdBack records why a job gets no door in the nodeset, once.
func (h *handout) holdBack(j *slurm.Job, set *config.NodeSet, why string) {
	if why != "" && !h.isHeld(j) {
		h.Held = append(h.Held, Wait{Job: j.ID, NodeSet: set.Name, Region: set.Region, Stage: Waiting, Obstacle: why, Barred: h.limits.obstacle(j, set) == why})
	}
}

func (h *handout) isHeld(j *slurm.Job) bool {
	return slices.ContainsFunc(h.Held, func(w Wait) bool { return w.Job == j.ID })
}

// unasked returns the waits of pending jobs of covered nodesets that lack only nodes, are without a
// door or a want, and are not held back: Slurm has not planned them. A wait for which enough nodes
// are free keeps the start that an earlier pass recorded.
func unasked(s *scene.Scene, sets map[*config.NodeSet]bool, jobs []*slurm.Job, h *handout) (all []Wait) {
	asked := map[string]bool{}
	for _, d := range s.Doors() {
		asked[slurm.WholeOf(d.Address)] = asked[slurm.WholeOf(d.Address)] || !d.Changed
	}
	for _, w := range h.Wants {
		asked[slurm.WholeOf(w.Address)] = true
	}
	for _, j := range jobs {
		places, whole := PlacesOf(s, sets, j), slurm.WholeOf(j.Address())
		if j.IsTasks() {
			whole = fmt.Sprint(j.ArrayID)
		}
		if len(places) == 0 || asked[whole] || h.isHeld(j) || !LacksNodes(*j) {
			continue
		}
		wait := Wait{Job: j.ID, NodeSet: places[0].Name, Region: places[0].Region, Stage: Waiting}
		free, most := places[0], -1
		for _, set := range places {
			n := 0
			for _, m := range s.Nodes() {
				if m.Set == set && h.isOpen(s, m) {
					n++
				}
			}
			if n > most {
				free, most = set, n
			}
		}
		switch {
		case !slices.ContainsFunc(places, func(set *config.NodeSet) bool { return !isClosed(s, j, set) }):
			wait.Obstacle = closedPartition
		case needsTaken(s, h, j) != "":
			wait.Obstacle = needsTaken(s, h, j)
		case most < j.NodeCount:
			wait.NodeSet, wait.Region = free.Name, free.Region
			wait.Obstacle = fmt.Sprintf("it needs %s, and %d of nodeset %s are free", action.Amount(j.NodeCount, "node"), most, free.Name)
		default:
			wait.Obstacle = "Slurm has not planned it yet"
			if wait.Since = s.Seen.Unasked[j.ID]; wait.Since.IsZero() {
				wait.Since = s.Seen.Now
			}
		}
		all = append(all, wait)
	}
	return all
}

// needsTaken returns which of the nodes that the job asks for by name cannot be had; empty if all can.
func needsTaken(s *scene.Scene, h *handout, j *slurm.Job) string {
	needs, _ := slurm.Expand(j.Needs)
	taken := slices.DeleteFunc(needs, func(name string) bool { m := s.Node(name); return m == nil || h.isOpen(s, m) })
	if len(taken) == 0 {
		return ""
	}
	return fmt.Sprintf("it asks for %s, which other jobs have or which is out of service", slurm.Fold(taken))
}
