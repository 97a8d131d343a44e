package plan

import (
	"cmp"
	"slices"
	"time"

	"slurmflex/config"
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
	*member
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
		if m == nil || !w.choose(m, free, m.job.Limit.Duration) && !w.choose(m, free, w.leastLimit(m.job)) {
			continue
		}
		planned[c.job.ID] = m
		free = slices.DeleteFunc(free, func(k kept) bool { return slices.Contains(m.to, k.Name) })
	}
	return planned
}

// keptMachines are the idle nodes that keep_idle keeps for moveTime yet, without those that
// Slurm has plans for, in the order in which they go.
func (w *wanted) keptMachines() (all []kept) {
	if w.snap.Skew.Abs() > maxSkew {
		return nil
	}
	for _, m := range w.members {
		if m.power != up || !m.idle() || m.taken() || m.set.IsStatic(m.index) || w.isUnread(m) ||
			m.State.Flags&(slurm.PowerDown|slurm.NotResponding|slurm.Planned) != 0 {
			continue
		}
		if until, known := w.freeUntil(m); known && KeptUntil(m.set, *m.Node, until).Sub(w.snap.Now) > moveTime {
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
	under, begun := w.moving[j.ID]
	if j.State != slurm.JobConfiguring || j.Limit.Kind != slurm.LimitSet || j.Start.IsZero() || j.HetID != 0 || j.User == "" ||
		j.Pinned || j.Reservation != "" && !(begun && j.Reservation == under.Name) ||
		!w.snap.Requeues[j.ID] || !w.cfg.Exclusive(j.Partition) || begun && under.hasMoved() {
		return nil
	}
	m := &move{job: j, begun: begun}
	for _, name := range slices.Sorted(slices.Values(j.Nodes)) {
		n := w.nodes[name]
		switch {
		case n == nil, n.set.Flex.KeepIdle == 0, n.set.IsStatic(n.index), n.set.Placement && len(j.Nodes) > 1,
			len(n.jobs) != 1, n.doubted, w.isUnread(n), w.isBeingMade(name):
			return nil
		case n.power == up && w.hasMachine(name) && w.fits(w.leastLimit(j), n):
			m.held = append(m.held, name)
		case n.power == rising && !w.hasMachine(name):
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
	if w.mayShow[node] || w.snap.Inserted[node] || w.snap.Asking[node] {
		return true
	}
	return w.ahead[w.nodes[node].set.Name] ||
		slices.ContainsFunc(w.requests[node], func(r ref) bool { return r.request.State != mig.Accepted })
}

// leastLimit is the least time limit that the job takes: that of --time-min, or its own.
func (s *scene) leastLimit(j *slurm.Job) time.Duration {
	return cmp.Or(s.snap.Limits[j.ID].MinTime, j.Limit.Duration)
}

// fits reports whether a job of that time limit would be done before the node's machine
// goes.
func (s *scene) fits(limit time.Duration, m *member) bool {
	until, known := s.freeUntil(m)
	return known && !s.snap.Now.Add(limit+moveTime).After(until)
}

// limitOn is the time limit, in whole minutes, that a job gets which is to be done before
// the machines of the nodes go; 0 if its own will do.
func (s *scene) limitOn(j *slurm.Job, nodes []string) (limit time.Duration) {
	for _, name := range nodes {
		m := s.nodes[name]
		if m == nil || m.power != up {
			continue
		}
		if until, known := s.freeUntil(m); known && !s.fits(j.Limit.Duration, m) {
			left := until.Sub(s.snap.Now) - moveTime
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
		lacks[w.nodes[name].set]++
	}
	for _, k := range free {
		reserved := m.begun && slices.Contains(w.moving[m.job.ID].Nodes, k.Name)
		if lacks[k.set] > 0 && reserved == m.begun && (reserved || !k.promised) && w.fits(limit, k.member) &&
			!k.LastBusyTime.Before(m.job.Start) && slices.Equal(k.Partitions, w.nodes[m.from[0]].Partitions) {
			lacks[k.set]--
			m.to = append(m.to, k.Name)
		}
	}
	return len(m.to) == len(m.from)
}
