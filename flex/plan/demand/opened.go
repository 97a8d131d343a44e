package demand

import (
	"maps"
	"slices"

	"slurmflex/config"
	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
)

// open takes names off the cover for a job that fits only together with nodes outside the cover,
// over which slurmflex makes no door: idle static nodes, and nodes that another's reservation
// covers later. Slurm then allocates all of the job's nodes, and the job waits CONFIGURING. At most
// one job of each nodeset gets its names at a time.
func (h *Handout) open(s *scene.Scene, sets map[*config.NodeSet]bool, jobs []*slurm.Job) {
	outside := outsideCover(s, sets)
	if len(outside) == 0 {
		return
	}
	isAsked, free := h.asked(s), h.free(s)
	for _, j := range jobs {
		if !needsMachines(s, j) || isAsked(j) || h.isHeld(j) {
			continue
		}
		for _, set := range PlacesOf(s, sets, j) {
			if len(outside[set]) == 0 || len(free[set]) == 0 || namesFor(free[set], j) != nil {
				continue
			}
			others := namesOf(slices.DeleteFunc(slices.Clone(outside[set]), func(m *scene.Node) bool { return !isFreeFor(s, m, j) }))
			names := without(namesWith(others, free[set], j), others)
			if len(names) == 0 {
				continue
			}
			for _, name := range names {
				h.opened[name] = j.ID
			}
			delete(outside, set)
			break
		}
	}
}

// outsideCover returns, by nodeset, the nodes that Slurm can allocate although jobs wait pending for
// the others.
func outsideCover(s *scene.Scene, sets map[*config.NodeSet]bool) map[*config.NodeSet][]*scene.Node {
	outside := map[*config.NodeSet][]*scene.Node{}
	for _, m := range s.Nodes() {
		isStatic, isForeign := m.Set.IsStatic(m.Index), IsForeign(s, m)
		if sets[m.Set] && (isStatic && !isForeign && isWarm(m) || isForeign && isFree(s, m)) {
			outside[m.Set] = append(outside[m.Set], m)
		}
	}
	return outside
}

// free returns, by nodeset, the names that no new door gets, covered or not: a name that has left
// the cover stays outside until Slurm has allocated it.
func (h *Handout) free(s *scene.Scene) map[*config.NodeSet][]string {
	wanted, free := map[string]bool{}, map[*config.NodeSet][]string{}
	for _, w := range h.Wants {
		for _, name := range w.Nodes {
			wanted[name] = true
		}
	}
	for _, m := range s.Nodes() {
		if isCold(s, m) && !wanted[m.Name] {
			free[m.Set] = append(free[m.Set], m.Name)
		}
	}
	return free
}

// isFreeFor reports whether the job would end before the node's machine, and before any reservation
// of the node that is not ours begins.
func isFreeFor(s *scene.Scene, m *scene.Node, j *slurm.Job) bool {
	return lastsFor(s, m, j) && !slices.ContainsFunc(m.Reserved, func(r *slurm.Reservation) bool {
		return isOfOthers(s, r) && (j.Limit.Kind != slurm.LimitSet || !r.Start.After(s.Seen.Now.Add(j.Limit.Duration)))
	})
}

// opensFor reports whether names leave the cover for the job.
func (h *Handout) opensFor(j *slurm.Job) bool {
	return slices.Contains(slices.Collect(maps.Values(h.opened)), j.ID)
}

// Opens reports whether the node leaves the cover, for Slurm to allocate it.
func (w *Wanted) Opens(m *scene.Node) bool { return w.Handed.opened[m.Name] != 0 }
