package demand

import (
	"fmt"
	"slices"
	"time"

	"slurmflex/config"
	"slurmflex/slurm"
)

// closedPartition is the obstacle for a job whose partition starts no jobs.
const closedPartition = "its partition starts no jobs now (State=DOWN or INACTIVE)"

// holdBack records why a job gets no door in the nodeset, once.
func (h *handout) holdBack(j *slurm.Job, set *config.NodeSet, why string) {
	if why != "" && !h.isHeld(j) {
		h.Held = append(h.Held, Wait{Job: j.ID, NodeSet: set.Name, Region: set.Region, Stage: Waiting, Obstacle: why, Barred: h.limits.obstacle(j, set) == why, Hidden: h.limits.overBudget(j, set) == why})
	}
}

func (h *handout) isHeld(j *slurm.Job) bool {
	return slices.ContainsFunc(h.Held, func(w Wait) bool { return w.Job == j.ID })
}

// unasked returns the waits of pending jobs of covered nodesets that lack only nodes, are without a
// door or a want, and are not held back: their array's own limit keeps them, or Slurm has not planned
// them. A wait for which enough nodes are free keeps the start that an earlier pass recorded.
func (h *handout) unasked() (all []Wait) {
	asked := map[string]bool{}
	for _, d := range h.Doors {
		asked[slurm.WholeOf(d.Address)] = asked[slurm.WholeOf(d.Address)] || !d.Changed
	}
	for _, w := range h.Wants {
		asked[slurm.WholeOf(w.Address)] = true
	}
	counts := stocks{scene: h.Scene, covered: h.sets, isFree: h.isOpen, of: map[string]*stock{}}
	for _, j := range h.jobs {
		places, whole := h.places(j), slurm.WholeOf(j.Address())
		if j.Array() != 0 {
			whole = fmt.Sprint(j.ArrayID)
		}
		has := len(h.DoorsOf(j.ID)) > 0 || h.hasWant(j)
		if len(places) == 0 || has || asked[whole] && j.Array() == 0 || h.isHeld(j) || !j.LacksNodes() {
			continue
		}
		wait := Wait{Job: j.ID, NodeSet: places[0].Name, Region: places[0].Region, Stage: Waiting}
		short := counts.shortOf(j, places)
		switch {
		case h.roomBeside(j) < 1:
			wait.Obstacle = ownLimit(h.Throttle(j))
		case !slices.ContainsFunc(places, func(set *config.NodeSet) bool { return !isClosed(h.Scene, j, set) }):
			wait.Obstacle = closedPartition
		case h.needsTaken(j) != "":
			wait.Obstacle = h.needsTaken(j)
		case short != nil:
			wait.NodeSet, wait.Region = short.set.Name, short.set.Region
			wait.Obstacle, wait.Frees = counts.text(short, j), short.frees
		case h.keptFrom(j, plan{set: places[0]}) != "":
			wait.Obstacle = h.keptFrom(j, plan{set: places[0]})
		default:
			wait.Obstacle = "Slurm has not planned it yet"
			if wait.Since = h.Seen.Unasked[j.ID]; wait.Since.IsZero() {
				wait.Since = h.Seen.Now
			}
			if asked[whole] {
				wait.Since = time.Time{} // other tasks of its array come first
			}
		}
		all = append(all, wait)
	}
	return all
}

// ownLimit states that an array already runs as many tasks at once as its owner allows, and Slurm's
// reason for that, which Slurm shows late.
func ownLimit(throttle int) string {
	return fmt.Sprintf("its own limit %%%d (JobArrayTaskLimit)", throttle)
}

// needsTaken returns which of the nodes that the job asks for by name cannot be had; empty if all can.
func (h *handout) needsTaken(j *slurm.Job) string {
	taken := slices.DeleteFunc(slices.Clone(j.Needs), func(name string) bool { m := h.Node(name); return m == nil || h.isOpen(m) })
	if len(taken) == 0 || len(j.Needs)-len(taken) >= max(j.NodeCount, 1) {
		return ""
	}
	return fmt.Sprintf("asks for %s, which other jobs have or which it cannot use now", slurm.Fold(taken))
}
