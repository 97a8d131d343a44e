package plan

import (
	"cmp"
	"slices"
	"time"

	"slurmflex/config"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// move is a job that waits for machines and is to have kept ones instead.
type move struct {
	job   *slurm.Job
	from  []string // its nodes that have no machine, which go back to Slurm
	to    []string // the nodes of kept machines that it gets for them
	held  []string // its nodes that are up, which it keeps
	begun bool     // its reservation is there
}

// kept is a node whose machine keep_idle keeps.
type kept struct {
	*scene.Node
	until time.Time // when its machine goes, or somebody has reserved it
}

// plannedMoves finds kept machines for the jobs that wait, the most important first. A job
// gets all that it lacks or none, of the same nodesets, and of those that fit it the ones
// that go first. One that is under way has what was reserved for it.
func (w *wanted) plannedMoves() map[uint32]*move {
	planned := map[uint32]*move{}
	free := w.keptMachines()
	for _, c := range w.cohorts { // by rank
		if len(free) == 0 {
			break
		}
		if c.job == nil || planned[c.job.ID] != nil {
			continue
		}
		m := w.movable(c.job)
		if m == nil || !w.choose(m, free, m.job.Limit.Duration) && !w.choose(m, free, leastLimit(w.scene, m.job)) {
			continue
		}
		planned[c.job.ID] = m
		free = slices.DeleteFunc(free, func(k kept) bool { return slices.Contains(m.to, k.Name) })
	}
	return planned
}

// keptMachines are the idle nodes that keep_idle keeps for scene.MoveTime yet, without those that
// Slurm has plans for, in the order in which they go.
func (w *wanted) keptMachines() (all []kept) {
	if w.scene.Seen.Skew.Abs() > scene.MaxSkew {
		return nil
	}
	for _, m := range w.scene.Nodes() {
		if m.Power != scene.On || !m.Idle() || m.Taken() || m.Set.IsStatic(m.Index) || w.scene.IsUnread(m) ||
			m.State.Flags&(slurm.PowerDown|slurm.NotResponding|slurm.Planned) != 0 {
			continue
		}
		if until, known := w.scene.FreeUntil(m); known && KeptUntil(m.Set, *m.Node, until).Sub(w.scene.Seen.Now) > scene.MoveTime {
			all = append(all, kept{m, until})
		}
	}
	slices.SortStableFunc(all, func(a, b kept) int { return a.until.Compare(b.until) })
	return all
}

// movable is the move of a job that may move, without the nodes that it is to have; nil
// for others: those of which a machine boots or is being created, those that Slurm would
// not requeue, and those that ask for more than any nodes of their nodesets.
func (w *wanted) movable(j *slurm.Job) *move {
	under, begun := w.scene.Moves()[j.ID]
	if len(w.scene.DoorsOf(j.ID)) > 0 || j.State != slurm.JobConfiguring || j.Limit.Kind != slurm.LimitSet || j.Start.IsZero() || j.HetID != 0 || j.User == "" ||
		j.Pinned() || j.Reservation != "" && !(begun && j.Reservation == under.Name) ||
		!w.scene.Seen.Requeues[j.ID] || !w.scene.Config.Exclusive(j.Partition) || begun && under.HasMoved() {
		return nil
	}
	m := &move{job: j, begun: begun}
	for _, name := range slices.Sorted(slices.Values(j.Nodes)) {
		n := w.scene.Node(name)
		switch {
		case n == nil, n.Set.Flex.KeepIdle == 0, n.Set.IsStatic(n.Index), n.Set.Placement && len(j.Nodes) > 1,
			len(n.Holders) != 1, n.Doubted, w.scene.IsUnread(n), w.isBeingMade(name):
			return nil
		case n.Power == scene.On && w.scene.HasMachine(name) && fits(w.scene, leastLimit(w.scene, j), n):
			m.held = append(m.held, name)
		case n.Power == scene.Rising && !w.scene.HasMachine(name):
			m.from = append(m.from, name)
		default:
			return nil
		}
	}
	if len(m.from) == 0 {
		return nil
	}
	return m
}

// isBeingMade reports whether the node's machine is on its way, or may be: its request
// cannot be withdrawn, or is about to be made.
func (w *wanted) isBeingMade(node string) bool {
	if w.scene.MayShow(node) || w.scene.Seen.Inserted[node] || w.scene.Seen.Asking[node] {
		return true
	}
	return w.scene.IsAhead(w.scene.Node(node).Set.Name) ||
		slices.ContainsFunc(w.scene.RequestsOf(node), func(r scene.Live) bool { return r.Request.State != mig.Accepted })
}

// leastLimit is the least time limit that the job takes: that of --time-min, or its own.
func leastLimit(s *scene.Scene, j *slurm.Job) time.Duration {
	return cmp.Or(s.Seen.Limits[j.ID].MinTime, j.Limit.Duration)
}

// fits reports whether a job of that time limit would be done before the node's machine
// goes.
func fits(s *scene.Scene, limit time.Duration, m *scene.Node) bool {
	until, known := s.FreeUntil(m)
	return known && !s.Seen.Now.Add(limit+scene.MoveTime).After(until)
}

// limitOn is the time limit, in whole minutes, that a job gets which is to be done before
// the machines of the nodes go; 0 if its own will do.
func limitOn(s *scene.Scene, j *slurm.Job, nodes []string) (limit time.Duration) {
	for _, name := range nodes {
		m := s.Node(name)
		if m == nil || m.Power != scene.On {
			continue
		}
		if until, known := s.FreeUntil(m); known && !fits(s, j.Limit.Duration, m) {
			left := until.Sub(s.Seen.Now) - scene.MoveTime
			limit = min(left, cmp.Or(limit, left))
		}
	}
	return max(limit.Truncate(time.Minute), 0)
}

// choose chooses the nodes that the job is to have, with that time limit. They came free after it was given
// its own: otherwise Slurm had a reason to give it others, and would have it again. So
// a job that does not start on machines moves to these no second time.
func (w *wanted) choose(m *move, free []kept, limit time.Duration) bool {
	m.to = nil
	lacks := map[*config.NodeSet]int{}
	for _, name := range m.from {
		lacks[w.scene.Node(name).Set]++
	}
	for _, k := range free {
		reserved := m.begun && slices.Contains(w.scene.Moves()[m.job.ID].Nodes, k.Name)
		if lacks[k.Set] > 0 && reserved == m.begun && (reserved || !k.Promised) && fits(w.scene, limit, k.Node) &&
			!k.LastBusyTime.Before(m.job.Start) && slices.Equal(k.Partitions, w.scene.Node(m.from[0]).Partitions) {
			lacks[k.Set]--
			m.to = append(m.to, k.Name)
		}
	}
	return len(m.to) == len(m.from)
}
