package demand

import (
	"cmp"
	"slices"
	"time"

	"slurmflex/config"
	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
)

// seeker is a job that machines can be requested for, in one or more nodesets.
type seeker struct {
	job     *slurm.Job
	address string
	places  []*config.NodeSet // the nodesets of the job's partition list
	has     []*config.NodeSet // the nodesets where the job has doors, or gets one now
	since   time.Time         // when its first door was made; without a door, since when it has lacked free nodes
}

// seekers returns the pending jobs that need machines, most important first, with the nodesets
// where they already wait. It leaves jobs that fit idle machines to Slurm.
func (h *Handout) seekers(s *scene.Scene, sets map[*config.NodeSet]bool, stocks map[*config.NodeSet]*stock, jobs []*slurm.Job, has map[string]bool) (all []seeker) {
	tasks := tasksAtWork(s)
	for _, w := range h.Wants {
		tasks[w.Job.Array()]++
	}
	for _, j := range jobs {
		doors, list := s.DoorsOf(j.ID), addresses(j, roomBeside(s, j, tasks[j.Array()]), has)
		k := doorless(s, j, PlacesOf(s, sets, j))
		k.address = j.Address()
		switch {
		case len(k.places) == 0 || h.hasWant(j):
			continue
		case len(doors) == 0 && !needsMachines(s, j, k.places) && (!mayBeLimited(*j) || isLate(s, j)):
			continue
		case slices.ContainsFunc(doors, func(d *scene.Door) bool { return !isStillBooting(s, d) }):
			continue
		case len(doors) == 0 && len(list) > 0 && h.hold(j, k.places), len(doors) == 0 && !needsMachines(s, j, k.places):
			continue
		case len(doors) == 0 && len(list) == 0:
			continue
		case h.takeWarm(s, stocks, j):
			for _, d := range doors {
				h.Leaves[d] = true
			}
			if len(doors) == 0 {
				h.limits.take(j, h.warm[j], j.NodeCount)
				tasks[j.Array()]++
			}
			continue
		case len(doors) == 0:
			for _, address := range list {
				k.address = address
				all = append(all, k)
			}
			tasks[j.Array()] += len(list)
			continue
		case slices.ContainsFunc(doors, func(d *scene.Door) bool { return len(s.WithoutMachine(d.Nodes)) < len(d.Nodes) }):
			continue // one of its doors already has a machine
		}
		k.since = s.Seen.Now
		for _, d := range doors {
			if m := s.Node(d.Nodes[0]); m != nil {
				k.has = append(k.has, m.Set)
			}
			k.since = earlier(k.since, d.At)
		}
		all = append(all, k)
	}
	return all
}

// doorless returns a seeker without a door.
func doorless(s *scene.Scene, j *slurm.Job, places []*config.NodeSet) seeker {
	return seeker{job: j, places: places, since: crowdedSince(s, j)}
}

// crowdedSince returns since when the job has had no request because its nodesets lacked free nodes;
// now if it has not waited for nodes before.
func crowdedSince(s *scene.Scene, j *slurm.Job) time.Time {
	return earlier(s.Seen.Now, cmp.Or(s.Seen.Crowded[j.ID], s.Seen.Now))
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// next returns the nodesets where a job may get another door now, in the order of the job's
// partition list: those where its turn has come, jobs can start and it was not late.
func (k *seeker) next(s *scene.Scene) []*config.NodeSet {
	return slices.DeleteFunc(k.due(s), func(set *config.NodeSet) bool { return wasLate(s, k.job, set) || isClosed(s, k.job, set) })
}

// due returns the nodesets where a job's turn has come, in the order of the job's partition list,
// without those where it has a door. ask_elsewhere_after of each nodeset delays the nodesets after
// it. For a job without a door, the delayed nodesets are appended at the end, in case none before
// them has enough names. dearer_after delays on_demand nodesets wherever they are in the list,
// because Slurm reorders the list of a requeued job. It does not apply to a job with on_demand
// nodesets only. The delays count from the job's first door, or from when its nodesets first lacked
// free nodes.
func (k *seeker) due(s *scene.Scene) (sets []*config.NodeSet) {
	var later []*config.NodeSet
	waited, delay := s.Seen.Now.Sub(k.since), time.Duration(0)
	cheaper := slices.ContainsFunc(k.places, func(set *config.NodeSet) bool { return set.Flex.Capacity != config.OnDemand })
	for _, set := range k.places {
		isDear := cheaper && set.Flex.Capacity == config.OnDemand
		switch {
		case slices.Contains(k.has, set) || isDear && waited < s.Config.Options.DearerAfter:
		case waited >= delay:
			sets = append(sets, set)
		case len(k.has) == 0:
			later = append(later, set)
		}
		delay += set.Flex.AskElsewhereAfter
	}
	return append(sets, later...)
}

// byLateness returns the nodesets among places where the turn of a job without a door has come.
// Those where the job was late sort last, the latest at the end.
func byLateness(s *scene.Scene, j *slurm.Job, places []*config.NodeSet) []*config.NodeSet {
	k, in := doorless(s, j, places), lateOf(s, j).In
	sets := k.due(s)
	slices.SortStableFunc(sets, func(a, b *config.NodeSet) int {
		return cmp.Compare(slices.Index(in, a.Name), slices.Index(in, b.Name))
	})
	return sets
}

// addSecondDoors adds to the stocks the unused doors of jobs' second and later places that still lack
// all machines. The doors of the least important job sort first.
func addSecondDoors(s *scene.Scene, seekers []seeker, stocks map[*config.NodeSet]*stock) {
	for _, k := range slices.Backward(seekers) {
		if len(k.has) < 2 {
			continue
		}
		for _, d := range s.DoorsOf(k.job.ID)[1:] {
			if m := s.Node(d.Nodes[0]); m != nil && !d.Named() && !s.IsUnread(m) && !AnyPresent(s, d.Nodes) {
				stocks[m.Set].second = append(stocks[m.Set].second, d)
			}
		}
	}
}

// namesOver returns names for the job's machines, from the free names and from other jobs' doors.
// It also returns these doors, which must end. It returns nil if there are too few names.
func namesOver(free []string, second []*scene.Door, j *slurm.Job) (names []string, ends []*scene.Door) {
	for _, d := range second {
		free = slices.Concat(free, d.Nodes)
		if names = namesFor(free, j); names != nil {
			return names, over(second, names)
		}
	}
	return nil, nil
}

// over returns the doors that cover any of the nodes.
func over(doors []*scene.Door, nodes []string) []*scene.Door {
	return slices.DeleteFunc(slices.Clone(doors), func(d *scene.Door) bool { return len(without(d.Nodes, nodes)) == len(d.Nodes) })
}

// UserIn is a Slurm user in a region. An empty name means no user.
type UserIn struct{ Region, Name string }
