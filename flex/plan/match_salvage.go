package plan

import (
	"cmp"
	"slices"
	"time"

	"slurmflex/config"
	"slurmflex/flex/plan/memo"
	"slurmflex/flex/plan/scene"
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

// plannedSalvages finds the gangs that have lost some machines and have others left. A gang that has
// lost machines is short if its time limit does not fit what is left of the leases: it keeps none.
// Gangs of covered nodesets get a door once Slurm has requeued them.
func (w *wanted) plannedSalvages() {
	s := w.scene
	w.salvages, w.keeps = map[uint32]*salvage{}, map[uint32]*salvage{}
	if !slices.ContainsFunc(s.Config.FlexSets(), func(set *config.NodeSet) bool { return set.Flex.Salvage }) {
		return
	}
	w.short = map[uint32]bool{}
	left := leftByJobs(s)
	taken := map[string]bool{}
	sets := covered(s)
	for _, j := range s.ByImportance() {
		v := salvageOf(s, j, left[j.ID])
		switch {
		case v == nil:
		case sets[v.set] && !v.begun && j.State != slurm.JobRunning:
		case v.short, sets[v.set] && !v.begun && len(usable(s, membersNamed(s, v.survivors), j)) < len(v.survivors):
			w.short[j.ID] = true
		case sets[v.set] && !v.begun:
			w.keeps[j.ID] = v
		default:
			spareNames(s, v, taken)
			w.salvages[j.ID] = v
		}
	}
}

// salvageOf is the salvage of a job, without spare names; nil if there is nothing to
// salvage, or no longer. Left are idle machines that it may have left.
func salvageOf(s *scene.Scene, j *slurm.Job, left []*scene.Node) *salvage {
	under, begun := s.Salvages()[j.ID]
	if begun && isUnsure(s, under) || s.Seen.Skew > scene.MaxSkew || j.HetID != 0 || j.User == "" || j.Pinned() || j.Limit.Kind != slurm.LimitSet ||
		j.Reservation != "" && !(begun && j.Reservation == under.Name) {
		return nil
	}
	v := &salvage{job: j, begun: begun}
	var nodes []*scene.Node
	switch {
	case j.State == slurm.JobRunning:
		if v.lost = lostTo(s, j); len(v.lost) == 0 || !s.Seen.Requeues[j.ID] || !s.Config.Exclusive(j.Partition) || len(j.Nodes) < 2 {
			return nil
		}
		nodes = membersNamed(s, j.Nodes)
	case begun && j.State == slurm.JobConfiguring:
		nodes = membersNamed(s, j.Nodes)
	case begun && (j.State.Waits() && j.Priority > 0 || j.State == slurm.JobCompleting):
		nodes = membersNamed(s, under.Nodes)
	case j.State.Waits() && j.Priority > 0 && len(left) < j.NodeCount && s.Config.Exclusive(j.Partition) && hasLost(s, j):
		nodes = left
	}
	for _, m := range nodes {
		switch {
		case v.set != nil && m.Set != v.set:
			return nil
		case survives(s, m, j):
			v.survivors = append(v.survivors, m.Name)
		}
		v.set = m.Set
	}
	slices.Sort(v.survivors)
	if len(v.survivors) == 0 || begun && s.IsOld(under.Start, v.set.Flex.SalvageTimeout) {
		return nil
	}
	v.short = j.State != slurm.JobConfiguring && slices.ContainsFunc(v.survivors, func(name string) bool { return !fits(s, leastLimit(s, j), s.Node(name)) })
	return v
}

// isUnsure reports whether what is known of the machines that are held does not do to
// judge them.
func isUnsure(s *scene.Scene, held scene.Salvage) bool {
	return s.Seen.Skew > scene.MaxSkew || s.AnyNode() || slices.ContainsFunc(membersNamed(s, held.Nodes), func(m *scene.Node) bool {
		return m.Doubted || m.Power == scene.Unclear || s.IsUnread(m)
	})
}

// survives reports whether the node's machine can be held for the job: it is up and not
// marked to go, and no other job has it.
func survives(s *scene.Scene, m *scene.Node, j *slurm.Job) bool {
	_, known := s.FreeUntil(m)
	return known && m.Set.Flex.Salvage && !m.Set.IsStatic(m.Index) && m.Power == scene.On && m.State.Base != slurm.Down && !m.Doubted && !s.IsUnread(m) &&
		m.State.Flags&(slurm.PowerDown|slurm.Drain|slurm.Fail) == 0 && !m.Machines[0].Stopped() &&
		!slices.ContainsFunc(m.Holders, func(other *slurm.Job) bool { return other.ID != j.ID })
}

// lostTo are the nodes of a running job whose machines are lost for certain. All that
// could be read wrong makes it none, and so does a node of which that is not known yet: it
// would be left out, and its job be taken off it twice.
func lostTo(s *scene.Scene, j *slurm.Job) (lost []string) {
	for _, name := range j.Nodes {
		m := s.Node(name)
		if m == nil || m.Doubted || s.IsUnread(m) || len(m.Holders) != 1 {
			return nil
		}
		switch cause, _ := s.LossOf(m); {
		case cause == "" || m.State.Base == slurm.Down || m.State.Has(slurm.Drain) || m.State.Has(slurm.Fail):
		case cause == scene.LeaseEnded || !s.IsLost(m):
			return nil
		default:
			lost = append(lost, name)
		}
	}
	slices.Sort(lost)
	return lost
}

// hasLost reports whether a machine is lost that was made for the job.
func hasLost(s *scene.Scene, j *slurm.Job) bool {
	for _, g := range s.UsableGroups() {
		if g.Stamp.Job != j.ID {
			continue
		}
		for _, r := range g.Requests {
			if shows(s, r) && slices.ContainsFunc(r.Instances, func(name string) bool { return isMissing(s, name) }) {
				return true
			}
		}
	}
	return false
}

// isMissing reports whether a machine of that name is gone, or Slurm has given its node up.
func isMissing(s *scene.Scene, node string) bool {
	m := s.Node(node)
	return !s.HasMachine(node) && !s.MayShow(node) || m != nil && m.Power == scene.On && m.State.Base == slurm.Down
}

// leftByJobs are the idle nodes with machines that were made for a job, by that job. One that
// has been idle for half of salvage_timeout does not count: a salvage that was given up, and
// whose machines keep_idle keeps, would begin again.
func leftByJobs(s *scene.Scene) map[uint32][]*scene.Node {
	left := map[uint32][]*scene.Node{}
	for _, m := range s.Nodes() {
		if m.Power == scene.On && m.Idle() && !m.Taken() && len(m.Machines) == 1 && !m.Promised &&
			!s.IsOld(m.LastBusyTime, m.Set.Flex.SalvageTimeout/2) {
			job := m.Machines[0].Origin().Job
			left[job] = append(left[job], m)
		}
	}
	return left
}

// spareNames chooses nodes without machines in the place of those that are lost: those that are
// reserved already, then others, and a lost one last, which comes free first.
func spareNames(s *scene.Scene, v *salvage, taken map[string]bool) {
	var held []string
	if v.begun {
		held = s.Salvages()[v.job.ID].Nodes
	}
	lacks := max(v.job.NodeCount, len(v.job.Nodes), len(held)) - len(v.survivors)
	reserved := func(m *scene.Node) bool { return slices.Contains(held, m.Name) }
	for _, again := range []bool{true, false} {
		for _, m := range s.Nodes() {
			if lacks > len(v.spare) && m.Set == v.set && reserved(m) == again && !taken[m.Name] && (again || !m.Promised) &&
				isSpare(s, m) && slices.Equal(m.Partitions, s.Node(v.survivors[0]).Partitions) {
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
func isSpare(s *scene.Scene, m *scene.Node) bool {
	return m.Power == scene.Off && m.Idle() && m.State.Has(slurm.PoweredDown) && !m.Taken() && !m.Set.IsStatic(m.Index) &&
		!s.Present(m.Name) && !s.MayShow(m.Name) && !s.IsUnread(m)
}

// isAvoided reports whether the node, which is down, is to stay so until a job that has lost
// machines starts again on others. Slurm would give it to the job rather than a spare node
// that sorts after it, and Compute may not have let go of its machine's name yet.
func (w *wanted) isAvoided(m *scene.Node) bool {
	for _, v := range w.salvages {
		if m.State.Base == slurm.Down && m.Set == v.set && v.job.State != slurm.JobConfiguring && len(v.nodes()) >= v.job.NodeCount && !slices.Contains(v.nodes(), m.Name) {
			return true
		}
	}
	return false
}

func membersNamed(s *scene.Scene, names []string) (all []*scene.Node) {
	for _, name := range names {
		if m := s.Node(name); m != nil {
			all = append(all, m)
		}
	}
	return all
}

// join has the cohort's machines made beside others of its job: in their zones, placed with
// them, and for as long as these stay.
func join(s *scene.Scene, c *cohort, others []string) {
	if len(others) == 0 {
		return
	}
	var zones []string
	for _, name := range others {
		in := s.Node(name).Machines[0]
		zones = append(zones, in.Zone)
		if c.set.Placement && in.Maker != nil {
			c.policy = cmp.Or(c.policy, in.Maker.Policy)
		}
		if in.Terminates.IsZero() {
			continue
		}
		c.lease = min(c.lease, max(in.Terminates.Sub(s.Seen.Now).Truncate(time.Second), config.MinRunDuration))
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
	m, held := w.scene.Salvages()[job.ID]
	return held && !w.isHeldFor(job) && slices.ContainsFunc(membersNamed(w.scene, job.Nodes), func(n *scene.Node) bool {
		return w.scene.IsOld(m.Start, n.Set.Flex.SalvageTimeout) && survives(w.scene, n, job)
	})
}

// reservationOf is the name of the salvage's reservation.
func (w *wanted) reservationOf(v *salvage) string {
	return memo.SalvageReservation(w.scene.Config.Cluster, v.job.ID)
}
