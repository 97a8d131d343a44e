package plan

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"slurmflex/config"
	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/memo"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// cohort is a set of nodes that must arrive together: the nodes without a machine that one job has
// in one nodeset, or a single node.
type cohort struct {
	set     *config.NodeSet
	job     *slurm.Job // nil if no job waits for it
	group   string     // the name of its managed instance group; one-node jobs may share the group
	stamp   mig.Stamp
	nodes   []string     // the rising nodes, by index
	holders []*slurm.Job // the jobs that hold any of the nodes
	lease   time.Duration
	zones   []string // the zones where its machines may be created
	// The workload policy of the machines that its machines must be near; empty: a policy of its
	// own.
	policy string
	static bool
	// The door for whose pending job slurmflex chose the nodes; nil: Slurm or a site chose them.
	door *scene.Door
	live *scene.Live // the live request for its nodes, if there is one

	missing []string // nodes that have neither an instance nor a request
	first   []string // what must happen before anything can be requested

	// The notes of package rules, which take them before they judge.
	asked scene.Asked // how long a request for the cohort was live or refused
	torn  string      // how its job has waited too long for the remaining nodes; empty: it has not
}

// id returns the ID of the cohort's group.
func (c *cohort) id() mig.GroupID { return mig.GroupID{Region: c.set.Region, Name: c.group} }

func (c *cohort) of() action.Of { return action.Of{Group: c.id(), Job: c.stamp.Job} }

// gather builds the cohorts.
func (w *wanted) gather() {
	var all []*cohort
	byGroup := map[string]*cohort{}
	ranks := map[rank]int{}
	for _, m := range w.scene.Nodes() {
		job := m.Owner()
		queued := job != nil && m.Set.Flex.Provisioning == config.Queued && !m.Set.IsStatic(m.Index)
		part := 0
		if queued {
			// The part depends on the whole allocation, not on the nodes without a machine, so it
			// is the same in every pass.
			r := rank{job.ID, m.Set.Name}
			part = ranks[r] / partSize(w.scene, m.Set)
			ranks[r]++
		}
		if m.Power != scene.Rising || job == nil && !risesByItself(w.scene, m) {
			continue
		}
		c := newCohort(w.scene, m, job, queued, part)
		if known := byGroup[c.group]; known != nil && !c.shares() {
			c = known
		} else {
			byGroup[c.group] = c
			all = append(all, c)
		}
		c.nodes, c.holders = append(c.nodes, m.Name), m.AddJobs(c.holders)
		w.of[m.At] = c
	}
	for _, c := range all {
		c.lease = scene.Lease(c.set.Flex, c.holders)
		if c.door != nil {
			join(w.scene, c, Survivors(w.scene, c.door))
		}
		c.group = place(w.scene, c)
		w.groupOf[c.id()] = true
	}
	slices.SortStableFunc(all, byRank)
	w.cohorts = all
}

// byRank orders cohorts: first those without a job, which an admin or the configuration powered up,
// then jobs by importance. The second door of any job sorts after the first doors of all jobs.
func byRank(a, b *cohort) int {
	switch {
	case a.job == nil && b.job == nil:
		return 0
	case a.job == nil:
		return -1
	case b.job == nil:
		return 1
	}
	return cmp.Or(cmp.Compare(a.place(), b.place()), scene.ByImportance(a.job, b.job))
}

// hasRivals reports whether the cohort's job also waits at other doors.
func (c *cohort) hasRivals() bool { return c.door != nil && len(c.door.Rivals) > 0 }

// place returns how many of the job's other doors come before the cohort's in its partition list.
func (c *cohort) place() int {
	if c.door == nil {
		return 0
	}
	return c.door.Place
}

// rank identifies a job's nodes of one nodeset, to count them.
type rank struct {
	job uint32
	set string
}

func newCohort(s *scene.Scene, m *scene.Node, job *slurm.Job, queued bool, part int) *cohort {
	c := &cohort{set: m.Set, job: job, zones: m.Set.Zones, static: m.Set.IsStatic(m.Index)}
	if m.Door != nil && job == m.Door.Taker {
		c.door = m.Door
	}
	c.stamp = mig.Stamp{Version: mig.StampVersion, Cluster: s.Config.Cluster, NodeSet: m.Set.Name}
	if queued {
		own := askedIn(s, m, job)
		if of := sharersOf(m.Set, job); of.Shared() && own == "" {
			c.group = memo.SharedGroup(s.Config.Cluster, m.Set.Name, of.Array, of.User, m.Index/mig.MaxInstances)
			c.stamp.Array, c.stamp.User = of.Array, of.User
			return c
		}
		c.group = cmp.Or(own, memo.JobGroup(s.Config.Cluster, m.Set.Name, job.ID, part))
	} else {
		c.group = memo.NodeGroup(s.Config.Cluster, m.Set.Name, m.Index)
		c.stamp.Node = m.Name
	}
	if job != nil && !m.Set.IsStatic(m.Index) {
		c.stamp.Job = job.ID
	}
	return c
}

// askedIn returns the name of the group of the job's nodes that has a live request for the node;
// empty if no such group exists. The size of the group depends on the template and the
// configuration. Nodes that already wait keep their group when either changes.
func askedIn(s *scene.Scene, m *scene.Node, job *slurm.Job) (part string) {
	for _, r := range s.RequestsOf(m.Name) {
		stamp := r.Group.Stamp
		if stamp.Job != job.ID || stamp.NodeSet != m.Set.Name || stamp.Node != "" {
			continue
		}
		if name := memo.Replaced(r.Group.Name); part == "" || name < part {
			part = name
		}
	}
	return part
}

// risesByItself reports whether a node powers up without a job: a static node, or one that an admin
// powered up by hand. slurmflex recognizes the latter by a group that was created for that node
// alone, or by the fact that no job has left the node: slurmctld sets LastBusyTime when a job
// leaves the node and clears it when the node is powered down (tried on 22.05, 24.11 and 26.05).
func risesByItself(s *scene.Scene, m *scene.Node) bool {
	if m.Set.IsStatic(m.Index) || hasOwnGroup(s, m) {
		return true
	}
	return m.LastBusyTime.IsZero() && m.State.IsIdle() && len(s.RequestsOf(m.Name)) == 0 &&
		len(m.Machines) == 0
}

// hasOwnGroup reports whether a group that was created for this node alone, and for no job, has
// created or is creating its machine.
func hasOwnGroup(s *scene.Scene, m *scene.Node) bool {
	own := func(g *mig.Group) bool { return g != nil && g.Stamp.Node == m.Name && g.Stamp.Job == 0 }
	for _, r := range s.RequestsOf(m.Name) {
		if own(r.Group) {
			return true
		}
	}
	for _, in := range m.Machines {
		if own(in.Maker) || in.Stamp.Cluster == s.Config.Cluster && in.Stamp.Job == 0 && in.Group == "" {
			return true
		}
	}
	return false
}

func (c *cohort) why() action.Why {
	if c.job != nil {
		return action.Why(fmt.Sprintf("job %s waits for %s", c.job.Name(), slurm.Fold(c.nodes)))
	}
	return action.Why("node " + slurm.Fold(c.nodes) + " is powering up")
}

// startedAfter reports whether the cohort's job was allocated its nodes after that time. A failure
// before that time has already taken effect.
func (c *cohort) startedAfter(t time.Time) bool { return c.job != nil && c.job.Start.After(t) }

// waitsSince returns when the cohort's job started to wait for its nodes: when Slurm allocated
// them, or if that is unknown, when they were first requested. It returns zero if neither is known
// or no job waits.
func waitsSince(c *cohort) time.Time {
	switch {
	case c.job == nil:
		return time.Time{}
	case !c.job.Start.IsZero():
		return c.job.Start
	case c.live == nil:
		return time.Time{}
	}
	first := c.live.Request.Created
	requests := c.requestsOf(c.live.Group)
	at := slices.IndexFunc(requests, func(r mig.Request) bool { return r.Name == c.live.Request.Name })
	for i := at - 1; i >= 0 && requests[i].State == mig.Failed; i-- {
		first = requests[i].Created
	}
	return first
}

// partSize returns how many nodes of the nodeset fit in one group.
func partSize(s *scene.Scene, set *config.NodeSet) int {
	if set.Placement {
		if limit, _, ok := placement(s, set); ok {
			return min(limit, mig.MaxInstances)
		}
	}
	return mig.MaxInstances
}

// isUnsized reports whether the maximum group size of the nodeset is unknown because its template
// has not been read.
func isUnsized(s *scene.Scene, set *config.NodeSet) bool {
	return set.Placement && s.Seen.Templates[set.Template].MachineType == ""
}

func placement(s *scene.Scene, set *config.NodeSet) (limit int, distance string, ok bool) {
	return mig.PlacementLimit(s.Seen.Templates[set.Template].MachineType, set.PlacementDistance)
}
