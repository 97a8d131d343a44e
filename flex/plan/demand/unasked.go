package demand

import (
	"fmt"
	"slices"
	"strings"

	"slurmflex/config"
	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
)

// unasked returns the waits of pending jobs of covered nodesets that lack only nodes, are without a
// request and a want, and are not held back. A wait without a reason keeps the start that an
// earlier pass recorded.
func unasked(s *scene.Scene, h *Handout) (all []Wait) {
	sets := Covered(s)
	if len(s.Covers()) == 0 {
		return nil
	}
	isAsked, stocks := h.asked(s), stocksOf(s, sets)
	for _, w := range h.Wants {
		for _, of := range stocks {
			of.cold = without(of.cold, w.Nodes)
		}
	}
	h.withhold(stocks)
	for _, j := range ByTier(s) {
		places, hasCold := PlacesOf(s, sets, j), isBehindColdDoor(s, j)
		if len(places) == 0 || isAsked(j) || h.isHeld(j) || !hasCold && !LacksNodes(*j) {
			continue
		}
		set := byLateness(s, j, places)[0]
		wait := Wait{Job: j.ID, NodeSet: set.Name, Region: set.Region, Stage: Waiting, Obstacle: "Slurm is choosing its nodes"}
		lasts := false
		switch {
		case h.opensFor(j):
			wait.Obstacle = "Slurm is choosing its nodes, because it also needs nodes that are static or under another reservation"
		case hasCold:
		case j.HetID == 0 && isClosed(s, j, set):
			wait.Obstacle, lasts = "its partition starts no jobs now (State=DOWN or INACTIVE)", true
		case isLeftToSlurm(s, j, places):
			wait.Obstacle, lasts = "it did not start although its nodes were free for it, so Slurm is to choose its nodes", true
		default:
			limit := ""
			if h.promised[j] == nil {
				limit = h.limits.obstacle(j, set)
			}
			wait.Obstacle, lasts = h.obstacle(s, j, set, stocks[set], limit)
		}
		switch since := s.Seen.Unasked[j.ID]; {
		case hasCold || !lasts && !since.IsZero():
			wait.Since = since
		case !lasts:
			wait.Since = s.Seen.Now
		}
		all = append(all, wait)
	}
	return all
}

// asked returns whether a job has a door for machines, or a want. An array, or a heterogeneous job,
// counts as one job.
func (h *Handout) asked(s *scene.Scene) func(*slurm.Job) bool {
	asked := map[string]bool{}
	for _, d := range s.Doors() {
		asked[WholeOf(d.Address)] = asked[WholeOf(d.Address)] || !d.Cold
	}
	for _, w := range h.Wants {
		asked[WholeOf(w.Address)] = true
	}
	return func(j *slurm.Job) bool {
		if j.IsTasks() {
			return asked[fmt.Sprint(j.ArrayID)]
		}
		return asked[WholeOf(j.Address())]
	}
}

func (h *Handout) isHeld(j *slurm.Job) bool {
	return slices.ContainsFunc(h.Held, func(w Wait) bool { return w.Job == j.ID })
}

// isBehindColdDoor reports whether Slurm is choosing the job's nodes from those of its door.
func isBehindColdDoor(s *scene.Scene, j *slurm.Job) bool {
	return j.State.Waits() && slices.ContainsFunc(s.Doors(), func(d *scene.Door) bool {
		return d.Cold && d.Job != nil && (d.Job.ID == j.ID || j.HetID != 0 && d.Job.HetID == j.HetID)
	})
}

// WholeOf returns the ID in a job's address. For an array task this is the ID of the array.
func WholeOf(address string) string {
	id, _, _ := strings.Cut(address, "_")
	return id
}

// unknown is the obstacle for a job with no known reason for the lack of a request.
const unknown = "it lacks only nodes, and slurmflex does not know why it requests no machines"

// obstacle returns why no machines are requested for a job, and whether that reason may last. limit
// is the limit that holds it back there, if any.
func (h *Handout) obstacle(s *scene.Scene, j *slurm.Job, set *config.NodeSet, of *stock, limit string) (why string, lasts bool) {
	needs, err := slurm.Expand(j.Needs)
	excluded, bad := slurm.Expand(j.Excludes)
	own, kept, by := h.keptFor(of, j, s.Seen.Now)
	free := slices.Concat(own, of.cold)
	taken, left, rest := without(needs, free), without(free, excluded), ""
	if by != nil {
		rest = fmt.Sprintf("kept for job %s, which is more important and needs %d", by.Name(), by.NodeCount)
	}
	switch {
	case h.warm[j] != nil || j.HetID != 0 && len(usable(s, of.warm, j)) >= j.NodeCount:
		return "idle machines fit it, and Slurm has not started it yet", false
	case err != nil || bad != nil:
		return unknown, false
	case len(taken) > 0 && len(without(taken, kept)) == 0:
		return fmt.Sprintf("it asks for %s, %s", slurm.Fold(taken), rest), true
	case len(taken) > 0:
		return fmt.Sprintf("it asks for %s, which other jobs have or which is out of service", slurm.Fold(taken)), true
	case len(left) < j.NodeCount && j.HetID == 0:
		return fmt.Sprintf("it needs %s, and %d of nodeset %s are free%s", action.Amount(j.NodeCount, "node"), len(left), set.Name, ifAny("; others are ", rest)), true
	case limit != "":
		return limit, true
	}
	for i := range s.Seen.Jobs {
		other := &s.Seen.Jobs[i]
		if j.HetID != 0 && other.HetID == j.HetID && !LacksNodes(*other) && !waitsForOthers(other) {
			return fmt.Sprintf("component %s waits for something else (%s)", other.Name(), other.Reason), true
		}
	}
	if j.HetID != 0 {
		return "its components need more nodes than are free" + ifAny("; others are ", rest), true
	}
	return unknown, false
}

// ifAny returns the text after a prefix; empty if the text is.
func ifAny(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}

// coldWant returns a want for the most important job that slurmflex cannot request machines for: a
// job that did not start although all its machines were there, or one that starves. The want
// contains all remaining names of the first nodeset that has enough, and Slurm chooses among them.
// It returns none while another job has such a door, or if too few names are left.
func (h *Handout) coldWant(s *scene.Scene) []Want {
	if slices.ContainsFunc(s.Doors(), func(d *scene.Door) bool { return d.Cold && d.Job != nil && d.Job.HetID == 0 }) {
		return nil
	}
	sets := Covered(s)
	starves := map[uint32]bool{}
	for _, w := range h.Held {
		starves[w.Job] = w.Starves(s.Seen.Now)
	}
	stocks := stocksOf(s, sets)
	h.withhold(stocks)
	for _, j := range ByTier(s) {
		places := PlacesOf(s, sets, j)
		isDue := starves[j.ID] || isLeftToSlurm(s, j, places) && !isLate(s, j)
		if !isDue || len(places) == 0 || !LacksNodes(*j) || j.HetID != 0 {
			continue
		}
		addresses := addresses(j, 1, nil)
		for _, set := range byLateness(s, j, places) {
			own, _, _ := h.keptFor(stocks[set], j, s.Seen.Now)
			names := slices.DeleteFunc(slices.Sorted(slices.Values(append(own, stocks[set].cold...))), func(name string) bool {
				return h.opened[name] != 0 || slices.ContainsFunc(h.Wants, func(w Want) bool { return slices.Contains(w.Nodes, name) })
			})
			if len(names) >= j.NodeCount && len(addresses) > 0 {
				return []Want{{Job: j, Address: addresses[0], Set: set, Nodes: names, Cold: true}}
			}
		}
	}
	return nil
}
