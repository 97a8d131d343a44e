package demand

import (
	"cmp"
	"maps"
	"slices"

	"slurmflex/config"
	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
)

// open takes names off the cover for a job that fits only together with nodes outside the cover,
// over which slurmflex makes no door: idle static nodes, and nodes that another's reservation
// covers later. Slurm then allocates all of the job's nodes, and the job waits CONFIGURING. The
// components of a heterogeneous job get their names together. At most one job of each nodeset gets
// its names at a time.
func (h *Handout) open(s *scene.Scene, sets map[*config.NodeSet]bool, jobs []*slurm.Job) {
	o := opening{scene: s, sets: sets, outside: outsideCover(s, sets), free: h.free(s), promised: map[string]bool{}}
	if len(o.outside) == 0 {
		return
	}
	parts := map[uint32][]*slurm.Job{}
	for _, j := range jobs {
		parts[cmp.Or(j.HetID, j.ID)] = append(parts[cmp.Or(j.HetID, j.ID)], j)
	}
	isAsked := h.asked(s)
	for _, j := range jobs {
		id := cmp.Or(j.HetID, j.ID)
		all := parts[id]
		delete(parts, id) // once
		if len(all) > 0 && !isAsked(j) && !slices.ContainsFunc(all, h.isHeld) {
			for set, names := range o.namesOf(all) {
				for _, name := range without(names, namesOf(o.outside[set])) {
					h.opened[name] = id
				}
				delete(o.outside, set)
			}
		}
		for _, name := range h.reserved(j) {
			o.promised[name] = true
		}
	}
}

// opening is what a pass knows of the nodes beside the cover.
type opening struct {
	scene   *scene.Scene
	sets    map[*config.NodeSet]bool
	outside map[*config.NodeSet][]*scene.Node // the nodes outside the cover
	free    map[*config.NodeSet][]string      // see Handout.free
	// The names that more important jobs get in a later pass.
	promised map[string]bool
}

// namesOf returns nodes for a job, or for all components of a heterogeneous job, by nodeset. It
// returns none if the job does not fit, or needs no node outside the cover, or only such nodes.
func (o opening) namesOf(parts []*slurm.Job) map[*config.NodeSet][]string {
	names, mixed := map[*config.NodeSet][]string{}, false
	for _, j := range parts {
		isPart := j.HetID != 0
		places := PlacesOf(o.scene, o.sets, j)
		lacks := LacksNodes(*j) && !isLate(o.scene, j) && !isLeftToSlurm(o.scene, j, places)
		if !lacks && !(isPart && waitsForOthers(j)) {
			return nil
		}
		switch {
		case isPart && len(places) == 0 && waitsForOthers(j):
			continue // Slurm allocates its nodes as soon as the other components have theirs
		case !lacks:
			return nil
		}
		fits := false
		for _, set := range places {
			if !isPart && (len(o.outside[set]) == 0 || wasLate(o.scene, j, set)) {
				continue
			}
			own, mixes := o.namesIn(set, names[set], j)
			if fits = mixes || isPart && len(own) > 0; fits {
				mixed, names[set] = mixed || mixes, append(names[set], own...)
				break
			}
		}
		if !fits {
			return nil
		}
	}
	if !mixed {
		return nil
	}
	return names
}

// namesIn returns nodes of the nodeset for the job, other than those taken, and whether some are
// covered and some are not. It returns none if the job does not fit.
func (o opening) namesIn(set *config.NodeSet, taken []string, j *slurm.Job) (names []string, mixes bool) {
	left := slices.DeleteFunc(without(o.free[set], taken), func(name string) bool { return o.promised[name] })
	if names = namesFor(left, j); names != nil || len(left) == 0 {
		return names, false
	}
	others := without(namesOf(slices.DeleteFunc(slices.Clone(o.outside[set]), func(m *scene.Node) bool { return !isFreeFor(o.scene, m, j) })), taken)
	names = namesWith(others, left, j)
	return names, len(others) > 0 && len(without(names, others)) > 0
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
	return lastsFor(s, m, j) && !isForOthers(s, m, j)
}

// isForOthers reports whether a reservation of the node that is not ours has started, or starts
// before the job would end.
func isForOthers(s *scene.Scene, m *scene.Node, j *slurm.Job) bool {
	return slices.ContainsFunc(m.Reserved, func(r *slurm.Reservation) bool {
		return isOfOthers(s, r) && (j.Limit.Kind != slurm.LimitSet || !r.Start.After(s.Seen.Now.Add(j.Limit.Duration)))
	})
}

// opensFor reports whether names leave the cover for the job.
func (h *Handout) opensFor(j *slurm.Job) bool {
	return slices.Contains(slices.Collect(maps.Values(h.opened)), cmp.Or(j.HetID, j.ID))
}

// Opens reports whether the node leaves the cover, for Slurm to allocate it.
func (w *Wanted) Opens(m *scene.Node) bool { return w.Handed.opened[m.Name] != 0 }
