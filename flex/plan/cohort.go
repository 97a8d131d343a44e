package plan

import (
	"cmp"
	"slices"
	"time"

	"slurmflex/config"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// cohort is the nodes that must arrive together: the nodes of one nodeset that
// one job was allocated and that have no machine yet, or one node by itself.
type cohort struct {
	set    *config.NodeSet
	job    *slurm.Job // nil if no job waits for it
	group  string     // the name of its managed instance group
	stamp  mig.Stamp
	nodes  []string // the ones that are rising, in the order of their index
	lease  time.Duration
	static bool
	live   *ref // the live request that will bring it, if there is one

	missing []string // nodes that neither have an instance nor are asked for
	mayAsk  bool     // for these, as far as the cohort itself goes

	// obstacle says why nothing is asked for it now, for its job's owner.
	obstacle string
	failed   int       // attempts in a row that have failed, if they are the obstacle
	next     time.Time // when the next one comes

	// pause says what has to come first that is under way already; its job's owner
	// needs not know.
	pause string

	// loss says why its job is lost, which its owner was told, and lostAt when;
	// zero: it is not.
	loss   string
	lostAt time.Time
}

// cohorts puts every rising node that somebody wants into its cohort.
func (w *world) cohorts() []*cohort {
	var all []*cohort
	byGroup := map[string]*cohort{}
	ranks := map[rank]int{}
	for _, m := range w.members {
		job := m.owner()
		queued := job != nil && m.set.Flex.Provisioning == config.Queued && !m.set.IsStatic(m.index)
		part := 0
		if queued {
			// The part follows from the whole allocation, not from the nodes
			// still to come, so it is the same in every round.
			r := rank{job.ID, m.set.Name}
			part = ranks[r] / w.partSize(m.set)
			ranks[r]++
		}
		if m.power != rising || job == nil && !w.risesByItself(m) {
			continue
		}
		c := w.newCohort(m, job, queued, part)
		if known := byGroup[c.group]; known != nil {
			c = known
		} else {
			byGroup[c.group] = c
			all = append(all, c)
		}
		c.nodes = append(c.nodes, m.Name)
		m.cohort = c
	}
	for _, c := range all {
		c.group = w.place(c.set, c.group, c.stamp)
		jobs := w.holders(c.nodes)
		c.lease = lease(c.set.Flex, jobs)
		w.nameUnreadLimits(c, jobs)
	}
	slices.SortStableFunc(all, byRank)
	return all
}

// byRank orders cohorts: what an admin or the configuration wants first, then
// jobs by their importance.
func byRank(a, b *cohort) int {
	switch {
	case a.job == nil && b.job == nil:
		return 0
	case a.job == nil:
		return -1
	case b.job == nil:
		return 1
	}
	return ByImportance(a.job, b.job)
}

// rank counts a job's nodes of one nodeset.
type rank struct {
	job uint32
	set string
}

func (w *world) newCohort(m *member, job *slurm.Job, queued bool, part int) *cohort {
	c := &cohort{set: m.set, job: job, static: m.set.IsStatic(m.index)}
	c.stamp = mig.Stamp{Version: mig.StampVersion, Cluster: w.cfg.Cluster, NodeSet: m.set.Name}
	if queued {
		c.group = cmp.Or(w.askedIn(m, job), jobGroup(w.cfg.Cluster, m.set.Name, job.ID, part))
	} else {
		c.group = nodeGroup(w.cfg.Cluster, m.set.Name, m.index)
		c.stamp.Node = m.Name
	}
	if job != nil && !m.set.IsStatic(m.index) {
		c.stamp.Job = job.ID
	}
	return c
}

// askedIn is the name of the part of the job's nodes in which a live request
// asks for the node; empty if none does. How many nodes a part holds follows from
// the template and the configuration: what waits stays as it is when these change.
func (w *world) askedIn(m *member, job *slurm.Job) (part string) {
	for _, r := range w.requests[m.Name] {
		stamp := r.group.Stamp
		if stamp.Job != job.ID || stamp.NodeSet != m.set.Name || stamp.Node != "" {
			continue
		}
		if name := unplaced(r.group.Name); part == "" || name < part {
			part = name
		}
	}
	return part
}

// owner is the job that the node is wanted for: of those that hold it and are not
// on their way out, the one with the first claim.
func (m *member) owner() *slurm.Job {
	for _, j := range m.jobs {
		if j.State != slurm.JobCompleting {
			return j
		}
	}
	return nil
}

// risesByItself reports whether a node is wanted though no job waits for it: a
// static one, or one that an admin powered up by hand. The latter shows in a
// group that was made for that node alone, or in that no job ever freed it:
// slurmctld sets LastBusyTime when a job leaves the node and clears it when the
// node is powered down (tried on 22.05, 24.11 and 26.05).
func (w *world) risesByItself(m *member) bool {
	if m.set.IsStatic(m.index) || w.hasOwnGroup(m) {
		return true
	}
	return m.LastBusyTime.IsZero() && m.State.IsIdle() && len(w.requests[m.Name]) == 0 &&
		len(m.machines) == 0
}

// hasOwnGroup reports whether a group that was made for this node alone, and
// for no job, still brings, or has brought, its machine.
func (w *world) hasOwnGroup(m *member) bool {
	own := func(g *mig.Group) bool { return g != nil && g.Stamp.Node == m.Name && g.Stamp.Job == 0 }
	for _, r := range w.requests[m.Name] {
		if own(r.group) {
			return true
		}
	}
	for _, in := range m.machines {
		if own(in.group) || in.Stamp.Cluster == w.cfg.Cluster && in.Stamp.Job == 0 && in.Group == "" {
			return true
		}
	}
	return false
}

// holders returns the jobs that hold any of the nodes.
func (w *world) holders(nodes []string) []*slurm.Job {
	var jobs []*slurm.Job
	for _, name := range nodes {
		for _, j := range w.nodes[name].jobs {
			if !slices.Contains(jobs, j) {
				jobs = append(jobs, j)
			}
		}
	}
	return jobs
}
