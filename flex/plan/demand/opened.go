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
	isAsked, done, free := h.asked(s), map[*config.NodeSet]bool{}, map[*config.NodeSet][]string{}
	for _, m := range s.Nodes() { // a name that is off the cover stays off until Slurm has allocated it
		if isCold(s, m) && !h.isWanted(m.Name) {
			free[m.Set] = append(free[m.Set], m.Name)
		}
	}
	for _, j := range jobs {
		if !needsMachines(s, j) || isAsked(j) || h.isHeld(j) {
			continue
		}
		for _, set := range PlacesOf(s, sets, j) {
			if done[set] || namesFor(free[set], j) != nil {
				continue
			}
			outside := outsideCover(s, set, j)
			for _, name := range without(namesWith(outside, free[set], j), outside) {
				h.opened[name], done[set] = j.ID, true
			}
			if done[set] {
				break
			}
		}
	}
}

// isWanted reports whether a new door gets the name.
func (h *Handout) isWanted(name string) bool {
	return slices.ContainsFunc(h.Wants, func(w Want) bool { return slices.Contains(w.Nodes, name) })
}

// opensFor reports whether names leave the cover for the job.
func (h *Handout) opensFor(j *slurm.Job) bool {
	return slices.Contains(slices.Collect(maps.Values(h.opened)), j.ID)
}

// Opens reports whether the node leaves the cover, for Slurm to allocate it.
func (w *Wanted) Opens(m *scene.Node) bool { return w.Handed.opened[m.Name] != 0 }

// outsideCover returns the nodes of the nodeset that Slurm can allocate to the job although jobs
// wait pending for the others.
func outsideCover(s *scene.Scene, set *config.NodeSet, j *slurm.Job) (names []string) {
	for _, m := range s.Nodes() {
		isStatic := m.Set.IsStatic(m.Index) && isWarm(m) && !IsForeign(s, m) && lastsFor(s, m, j)
		if m.Set == set && (isStatic || IsForeign(s, m) && isFree(s, m) && isFreeLater(s, m, j)) {
			names = append(names, m.Name)
		}
	}
	return names
}

// isFreeLater reports whether all reservations that are not ours begin after the job must have
// ended.
func isFreeLater(s *scene.Scene, m *scene.Node, j *slurm.Job) bool {
	return j.Limit.Kind == slurm.LimitSet && !slices.ContainsFunc(m.Reserved, func(r *slurm.Reservation) bool {
		return isOfOthers(s, r) && !r.Start.After(s.Seen.Now.Add(j.Limit.Duration))
	})
}
