package demand

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

// Claim is a set of nodes that must arrive together: the nodes without a machine that one job has
// in one nodeset, or a single node.
type Claim struct {
	Set     *config.NodeSet
	Job     *slurm.Job    // nil if no job waits for it
	Group   string        // the name of its managed instance group; one-node jobs may share the group
	Stamp   mig.Stamp     // the stamp of that group, and of its machines
	Nodes   []string      // the rising nodes, by index
	Holders []*slurm.Job  // the jobs that hold any of the nodes
	Lease   time.Duration // how long its machines may run; 0: forever
	Zones   []string      // the zones where its machines may be created
	// The workload policy of the machines that its machines must be near; empty: a policy of its
	// own.
	Policy string
	// The door for whose pending job slurmflex chose the nodes; nil: Slurm or a site chose them.
	Door *scene.Door
	Live *scene.Live // the live request for its nodes, if there is one

	Missing []string // nodes that have neither an instance nor a request
	First   []string // what must happen before anything can be requested

	notes
}

// notes are what the rules need to know of a claim. Package rules notes them before it judges any claim.
type notes struct {
	Asked      scene.Asked // how long a request for the claim was live or refused
	Incomplete string      // how its job has waited too long for the remaining nodes; empty: it has not
}

// ID returns the ID of the claim's group.
func (c *Claim) ID() mig.GroupID { return mig.GroupID{Region: c.Set.Region, Name: c.Group} }

// Of returns what an action on the claim's group changes.
func (c *Claim) Of() action.Of { return action.Of{Group: c.ID(), Job: c.Stamp.Job} }

// gather builds the claims.
func (w *Wanted) gather() {
	var all []*Claim
	byGroup := map[string]*Claim{}
	ranks := map[rank]int{}
	for _, m := range w.Nodes {
		job := m.Owner
		queued := job != nil && m.Set.Flex.Provisioning == config.Queued && !m.Static
		part := 0
		if queued {
			// The part depends on the whole allocation, not on the nodes without a machine, so it
			// is the same in every pass.
			r := rank{job.ID, m.Set.Name}
			part = ranks[r] / partSize(w.Scene, m.Set)
			ranks[r]++
		}
		if m.Power != scene.Rising || job == nil && !risesByItself(w.Scene, m) {
			continue
		}
		c := NewClaim(w.Scene, m, job, queued, part)
		if w.ends[c.Door] != "" {
			continue
		}
		if known := byGroup[c.Group]; known != nil && !c.Shares() {
			c = known
		} else {
			byGroup[c.Group] = c
			all = append(all, c)
		}
		c.Nodes, c.Holders = append(c.Nodes, m.Name), m.AddJobs(c.Holders)
		w.of[m.At] = c
	}
	for _, c := range all {
		c.Lease = scene.Lease(c.Set.Flex, c.Holders)
		if c.Door != nil {
			join(w.Scene, c, w.Survivors(c.Door))
		}
		c.Group = place(w.Scene, c)
		w.GroupOf[c.ID()] = true
	}
	slices.SortStableFunc(all, ByRank)
	w.Claims = all
}

// ByRank orders claims: first those without a job, which an admin or the configuration powered up,
// then jobs by importance. The second door of any job sorts after the first doors of all jobs.
func ByRank(a, b *Claim) int {
	switch {
	case a.Job == nil && b.Job == nil:
		return 0
	case a.Job == nil:
		return -1
	case b.Job == nil:
		return 1
	}
	return cmp.Or(cmp.Compare(a.Place(), b.Place()), scene.ByImportance(a.Job, b.Job))
}

// HasRivals reports whether the claim's job also waits at other doors.
func (c *Claim) HasRivals() bool { return c.Door != nil && len(c.Door.Rivals) > 0 }

// Place returns how many of the job's other doors were made before the claim's. Doors of the same second
// are numbered; see memo.FurtherDoor. A request that has waited for longer is nearer to its grant.
func (c *Claim) Place() (place int) {
	if c.Door == nil {
		return 0
	}
	for _, r := range c.Door.Rivals {
		if cmp.Or(r.At.Compare(c.Door.At), cmp.Compare(r.Name, c.Door.Name)) < 0 {
			place++
		}
	}
	return place
}

// rank identifies a job's nodes of one nodeset, to count them.
type rank struct {
	job uint32
	set string
}

// NewClaim returns a claim for the node, without its nodes and lease. part is the number of the
// group among those of the job's nodeset, from 0; queued: the nodes arrive together.
func NewClaim(s *scene.Scene, m *scene.Node, job *slurm.Job, queued bool, part int) *Claim {
	c := &Claim{Set: m.Set, Job: job, Zones: m.Set.Zones}
	if m.Door != nil && job == m.Door.Taker {
		c.Door = m.Door
	}
	c.Stamp = mig.Stamp{Version: mig.StampVersion, Cluster: s.Config.Cluster, NodeSet: m.Set.Name}
	if queued {
		own := askedIn(m, job)
		if of := sharersOf(m.Set, job); of.Shared() && own == "" {
			c.Group = memo.SharedGroup(s.Config.Cluster, m.Set.Name, of.Array, of.User, m.Index/mig.MaxInstances)
			c.Stamp.Array, c.Stamp.User = of.Array, of.User
			return c
		}
		c.Group = cmp.Or(own, memo.JobGroup(s.Config.Cluster, m.Set.Name, job.ID, part))
	} else {
		c.Group = memo.NodeGroup(s.Config.Cluster, m.Set.Name, m.Index)
		c.Stamp.Node = m.Name
	}
	if job != nil && !m.Static {
		c.Stamp.Job = job.ID
	}
	return c
}

// askedIn returns the name of the group of the job's nodes that has a live request for the node;
// empty if no such group exists. The size of the group depends on the template and the
// configuration. Nodes that already wait keep their group when either changes.
func askedIn(m *scene.Node, job *slurm.Job) (part string) {
	for _, r := range m.Requests {
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
	if m.Static || hasOwnGroup(s, m) {
		return true
	}
	return m.LastBusyTime.IsZero() && m.State.IsIdle() && len(m.Requests) == 0 &&
		len(m.Machines) == 0
}

// hasOwnGroup reports whether a group that was created for this node alone, and for no job, has
// created or is creating its machine.
func hasOwnGroup(s *scene.Scene, m *scene.Node) bool {
	own := func(g *mig.Group) bool { return g != nil && g.Stamp.Node == m.Name && g.Stamp.Job == 0 }
	for _, r := range m.Requests {
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

// Why returns the reason for an action on the claim.
func (c *Claim) Why() action.Why {
	if c.Job != nil {
		return action.Why(fmt.Sprintf("job %s waits for %s", c.Job.Name(), slurm.Fold(c.Nodes)))
	}
	return action.Why("node " + slurm.Fold(c.Nodes) + " is powering up")
}

// StartedAfter reports whether the claim's job was allocated its nodes after that time. A failure
// before that time has already taken effect.
func (c *Claim) StartedAfter(t time.Time) bool { return c.Job != nil && c.Job.Start.After(t) }

// WaitsSince returns when the claim's job started to wait for its nodes: when Slurm allocated
// them, or if that is unknown, when they were first requested. A door is the job's allocation; if it
// was made again after an absence of the daemon, the job's own request is older and counts.
// WaitsSince returns zero if neither is known or no job waits.
func (c *Claim) WaitsSince() time.Time {
	switch {
	case c.Job == nil:
		return time.Time{}
	case c.Live == nil, !c.Job.Start.IsZero() && (c.Door == nil || c.Live.Group.Stamp.Job != c.Job.ID):
		return c.Job.Start
	}
	first := c.Live.Request.Created
	requests := c.RequestsOf(c.Live.Group)
	at := slices.IndexFunc(requests, func(r mig.Request) bool { return r.Name == c.Live.Request.Name })
	for i := at - 1; i >= 0 && requests[i].State == mig.Failed; i-- {
		first = requests[i].Created
	}
	if start := c.Job.Start; !start.IsZero() && start.Before(first) {
		return start
	}
	return first
}

// partSize returns how many nodes of the nodeset fit in one group.
func partSize(s *scene.Scene, set *config.NodeSet) int {
	if set.Placement {
		if limit, _, ok := Placement(s, set); ok {
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

// Placement returns how many machines of the nodeset a workload policy places together, and the
// distance that Compute knows. It reports false if the nodeset's machine type cannot be placed so.
func Placement(s *scene.Scene, set *config.NodeSet) (limit int, distance string, ok bool) {
	return mig.PlacementLimit(s.Seen.Templates[set.Template].MachineType, set.PlacementDistance)
}
