package plan

import (
	"cmp"
	"slices"
	"time"

	"slurmflex/config"
	"slurmflex/flex/plan/memo"
	"slurmflex/slurm"
)

// salvage is a job of several nodes that has lost machines, and what is held for it until
// it runs again: the machines that are left, and names for those that it lacks.
type salvage struct {
	job       *slurm.Job
	set       *config.NodeSet
	survivors []string // nodes whose machines are left
	spare     []string // names for the machines that it lacks
	lost      []string // nodes that it has still, whose machines are gone
	begun     bool     // its reservation is there
	short     bool     // its time limit does not fit the leases that are left, so nothing is held
}

// nodes are all that is to be held.
func (v *salvage) nodes() []string { return slices.Concat(v.survivors, v.spare) }

// plannedSalvages finds the gangs of which some machines are lost and others are left.
// Short are those among them that hold none, because their time limit does not fit what is
// left of the leases.
func (s *scene) plannedSalvages() (planned map[uint32]*salvage, short map[uint32]bool) {
	planned = map[uint32]*salvage{}
	if !slices.ContainsFunc(s.cfg.FlexSets(), func(set *config.NodeSet) bool { return set.Flex.Salvage }) {
		return planned, nil
	}
	short = map[uint32]bool{}
	left := s.leftByJobs()
	taken := map[string]bool{}
	for _, j := range s.byImportance() {
		v := s.salvageOf(j, left[j.ID])
		switch {
		case v == nil:
		case v.short:
			short[j.ID] = true
		default:
			s.spareNames(v, taken)
			planned[j.ID] = v
		}
	}
	return planned, short
}

// salvageOf is the salvage of a job, without spare names; nil if there is nothing to
// salvage, or no longer. Left are idle machines that it may have left.
func (s *scene) salvageOf(j *slurm.Job, left []*member) *salvage {
	under, begun := s.salvaging[j.ID]
	if begun && s.isUnsure(under) || s.snap.Skew > maxSkew || j.HetID != 0 || j.User == "" || j.Pinned || j.Limit.Kind != slurm.LimitSet ||
		j.Reservation != "" && !(begun && j.Reservation == under.Name) {
		return nil
	}
	v := &salvage{job: j, begun: begun}
	var nodes []*member
	switch {
	case j.State == slurm.JobRunning:
		if v.lost = s.lostTo(j); len(v.lost) == 0 || !s.snap.Requeues[j.ID] || !s.cfg.Exclusive(j.Partition) || len(j.Nodes) < 2 {
			return nil
		}
		nodes = s.membersNamed(j.Nodes)
	case begun && j.State == slurm.JobConfiguring:
		nodes = s.membersNamed(j.Nodes)
	case begun && (j.State.Waits() && j.Priority > 0 || j.State == slurm.JobCompleting):
		nodes = s.membersNamed(under.Nodes)
	case j.State.Waits() && j.Priority > 0 && len(left) < j.NodeCount && s.cfg.Exclusive(j.Partition) && s.hasLost(j):
		nodes = left
	}
	for _, m := range nodes {
		switch {
		case v.set != nil && m.set != v.set:
			return nil
		case s.survives(m, j):
			v.survivors = append(v.survivors, m.Name)
		}
		v.set = m.set
	}
	slices.Sort(v.survivors)
	if len(v.survivors) == 0 || begun && s.isOld(under.Start, v.set.Flex.SalvageTimeout) {
		return nil
	}
	v.short = j.State != slurm.JobConfiguring && slices.ContainsFunc(v.survivors, func(name string) bool { return !s.fits(s.leastLimit(j), s.nodes[name]) })
	return v
}

// isUnsure reports whether what is known of the machines that are held does not do to
// judge them.
func (s *scene) isUnsure(held moving) bool {
	return s.snap.Skew > maxSkew || s.anyNode || slices.ContainsFunc(s.membersNamed(held.Nodes), func(m *member) bool {
		return m.doubted || m.power == unclear || s.isUnread(m)
	})
}

// survives reports whether the node's machine can be held for the job: it is up and not
// marked to go, and no other job has it.
func (s *scene) survives(m *member, j *slurm.Job) bool {
	_, known := s.freeUntil(m)
	return known && m.set.Flex.Salvage && !m.set.IsStatic(m.index) && m.power == up && m.State.Base != slurm.Down && !m.doubted && !s.isUnread(m) &&
		m.State.Flags&(slurm.PowerDown|slurm.Drain|slurm.Fail) == 0 && !m.machines[0].Stopped() &&
		!slices.ContainsFunc(m.jobs, func(other *slurm.Job) bool { return other.ID != j.ID })
}

// lostTo are the nodes of a running job whose machines are lost for certain. All that
// could be read wrong makes it none, and so does a node of which that is not known yet: it
// would be left out, and its job be taken off it twice.
func (s *scene) lostTo(j *slurm.Job) (lost []string) {
	for _, name := range j.Nodes {
		m := s.nodes[name]
		if m == nil || m.doubted || s.isUnread(m) || len(m.jobs) != 1 {
			return nil
		}
		switch cause, _ := s.lossOf(m); {
		case cause == "" || m.State.Base == slurm.Down || m.State.Has(slurm.Drain) || m.State.Has(slurm.Fail):
		case cause == LeaseEnded || !s.isLost(m):
			return nil
		default:
			lost = append(lost, name)
		}
	}
	slices.Sort(lost)
	return lost
}

// hasLost reports whether a machine is lost that was made for the job.
func (s *scene) hasLost(j *slurm.Job) bool {
	for _, g := range s.groups {
		if g.Stamp.Job != j.ID {
			continue
		}
		for _, r := range g.Requests {
			if s.shows(r) && slices.ContainsFunc(r.Instances, s.isMissing) {
				return true
			}
		}
	}
	return false
}

// isMissing reports whether a machine of that name is gone, or Slurm has given its node up.
func (s *scene) isMissing(node string) bool {
	m := s.nodes[node]
	return !s.hasMachine(node) && !s.mayShow[node] || m != nil && m.power == up && m.State.Base == slurm.Down
}

// leftByJobs are the idle nodes with machines that were made for a job, by that job. One that
// has been idle for half of salvage_timeout does not count: a salvage that was given up, and
// whose machines keep_idle keeps, would begin again.
func (s *scene) leftByJobs() map[uint32][]*member {
	left := map[uint32][]*member{}
	for _, m := range s.members {
		if m.power == up && m.idle() && !m.taken() && len(m.machines) == 1 && !m.promised &&
			!s.isOld(m.LastBusyTime, m.set.Flex.SalvageTimeout/2) {
			job := m.machines[0].stamp().Job
			left[job] = append(left[job], m)
		}
	}
	return left
}

// spareNames chooses nodes without machines in the place of those that are lost: those that are
// reserved already, then others, and a lost one last, which comes free first.
func (s *scene) spareNames(v *salvage, taken map[string]bool) {
	var held []string
	if v.begun {
		held = s.salvaging[v.job.ID].Nodes
	}
	lacks := max(v.job.NodeCount, len(v.job.Nodes), len(held)) - len(v.survivors)
	reserved := func(m *member) bool { return slices.Contains(held, m.Name) }
	for _, again := range []bool{true, false} {
		for _, m := range s.members {
			if lacks > len(v.spare) && m.set == v.set && reserved(m) == again && !taken[m.Name] && (again || !m.promised) &&
				s.isSpare(m) && slices.Equal(m.Partitions, s.nodes[v.survivors[0]].Partitions) {
				taken[m.Name] = true
				v.spare = append(v.spare, m.Name)
			}
		}
	}
	for _, name := range v.lost {
		if lacks > len(v.spare) {
			v.spare = append(v.spare, name)
		}
	}
}

// isSpare reports whether the node has no machine, and a job could be given it.
func (s *scene) isSpare(m *member) bool {
	return m.power == down && m.idle() && m.State.Has(slurm.PoweredDown) && !m.taken() && !m.set.IsStatic(m.index) &&
		!s.present(m.Name) && !s.mayShow[m.Name] && !s.isUnread(m)
}

// isAvoided reports whether the node, which is down, is to stay so until a job that has lost
// machines starts again on others. Slurm would give it to the job rather than a spare node
// that sorts after it, and Compute may not have let go of its machine's name yet.
func (w *wanted) isAvoided(m *member) bool {
	for _, v := range w.salvages {
		if m.State.Base == slurm.Down && m.set == v.set && v.job.State != slurm.JobConfiguring && len(v.nodes()) >= v.job.NodeCount && !slices.Contains(v.nodes(), m.Name) {
			return true
		}
	}
	return false
}

func (s *scene) membersNamed(names []string) (all []*member) {
	for _, name := range names {
		if m := s.nodes[name]; m != nil {
			all = append(all, m)
		}
	}
	return all
}

// join has the cohort's machines made beside others of its job: in their zones, placed with
// them, and for as long as these stay.
func (s *scene) join(c *cohort, others []string) {
	var zones []string
	for _, name := range others {
		in := s.nodes[name].machines[0]
		zones = append(zones, in.Zone)
		if c.set.Placement && in.group != nil {
			c.policy = cmp.Or(c.policy, in.group.Policy)
		}
		c.lease = min(c.lease, max(in.Terminates.Sub(s.snap.Now).Truncate(time.Second), config.MinRunDuration))
	}
	slices.Sort(zones)
	c.zones = slices.Compact(zones)
}

// isHeldFor reports whether machines are held for the job after a loss.
func (w *wanted) isHeldFor(job *slurm.Job) bool { return job != nil && w.salvages[job.ID] != nil }

// salvageIsLate reports whether the job waits for a machine in place of one that was lost
// for longer than salvage_timeout.
func (w *wanted) salvageIsLate(job *slurm.Job) bool {
	if job == nil || job.State != slurm.JobConfiguring {
		return false
	}
	m, held := w.salvaging[job.ID]
	return held && !w.isHeldFor(job) && slices.ContainsFunc(w.membersNamed(job.Nodes), func(n *member) bool {
		return w.isOld(m.Start, n.set.Flex.SalvageTimeout) && w.survives(n, job)
	})
}

// reservationOf is the name of the salvage's reservation.
func (w *wanted) reservationOf(v *salvage) string {
	return memo.SalvageReservation(w.cfg.Cluster, v.job.ID)
}
