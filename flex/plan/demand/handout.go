package demand

import (
	"cmp"
	"slices"
	"time"

	"slurmflex/config"
	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
)

// handed is what pending jobs get in a pass: doors over the nodes that Slurm has planned for them, or
// the machines that other jobs have left.
type handed struct {
	Wants []want
	Held  []Wait         // see Plan.Held
	Later map[UserIn]int // the jobs that lack a request and get a door in a later pass
	// Leaves has the doors whose jobs may start on idle machines instead: they use no door meanwhile.
	Leaves map[*scene.Door]bool
	// Offered has machines that no job has and that Slurm may give to any job.
	Offered map[*scene.Node]bool
	// Yields has idle machines that keep_idle keeps, with the job that their nodes are needed for.
	Yields map[*scene.Node]*slurm.Job
	// Crowded holds since when jobs wait for a nodeset that is not on demand; see scene.Memory.
	Crowded map[uint32]time.Time
	// Nodes with machines that no job has now, and that a job gets or keeps.
	kept map[*scene.Node]bool
}

// handout hands out the covered nodesets' names and machines.
type handout struct {
	*scene.Scene
	handed
	coveredNames
	jobs   []*slurm.Job   // all jobs in the queue, the most important first
	tasks  map[uint32]int // of each array: how many have nodes or a door, or get one
	limits *limits
}

// coveredNames are the names of the covered nodesets' nodes.
type coveredNames struct {
	sets   map[*config.NodeSet]bool
	free   map[*config.NodeSet][]string   // cold nodes that Slurm has planned for no job that may get them, lowest first
	spares map[*config.NodeSet]bool       // where Slurm may have planned jobs that rest or too early, and others behind them or not at all
	short  map[*config.NodeSet]*slurm.Job // the most important job that its nodeset has too few free nodes for
	named  []string                       // kept for jobs that Slurm will plan in its next cycles: what they ask for by name, or as many as they need
}

// handOut gives each pending job that Slurm has planned a door over the planned nodes, the most
// important job first. A job that has lost some of its machines first gets its others. Further
// places come after the first places of all jobs.
func handOut(s *scene.Scene) handed {
	h := &handout{
		Scene: s, jobs: s.Queue(),
		coveredNames: coveredNames{sets: s.Covered(), free: map[*config.NodeSet][]string{}, short: map[*config.NodeSet]*slurm.Job{}, spares: map[*config.NodeSet]bool{}},
		handed: handed{
			Leaves: map[*scene.Door]bool{}, Offered: map[*scene.Node]bool{}, Yields: map[*scene.Node]*slurm.Job{}, kept: map[*scene.Node]bool{}, Later: map[UserIn]int{},
			Crowded: map[uint32]time.Time{},
		},
	}
	if !s.AnyCover() {
		return h.handed // the first pass makes them
	}
	h.limits, h.tasks = limitsOf(s), tasksAtWork(s)
	h.Held = h.lateWaits()
	planned := map[string]bool{}
	for _, j := range h.jobs {
		switch {
		case !j.State.Waits():
		case h.rests(j):
			for _, set := range h.places(j) {
				h.spares[set] = true
			}
		case !h.isLater(j):
			for _, name := range j.Planned {
				m := h.Node(name)
				planned[name] = planned[name] || m == nil || !IsForOthers(s, m, j)
			}
		}
	}
	for _, m := range s.Nodes {
		if misleads(s, m) {
			h.spares[m.Set] = h.sets[m.Set]
		}
		if h.sets[m.Set] && m.Cold && m.IsOpenToPlans() && !planned[m.Name] && m.Changed == nil {
			h.free[m.Set] = append(h.free[m.Set], m.Name)
		}
	}
	left := h.keepSurvivors()
	h.offer(left)
	h.placeJobs()
	h.placeFurther()
	h.Held = append(h.Held, h.unasked()...)
	return h.handed
}

// rests reports whether Slurm may plan the job although it gets no nodes now: it is late or may have no
// reservation, its array has as many tasks at work as may run at once, or another limit holds it back.
func (h *handout) rests(j *slurm.Job) bool {
	places := h.places(j)
	switch {
	case len(places) == 0 || j.Priority == 0 || j.Reservation != "" || len(j.Planned) == 0 && !j.LacksNodes() && !j.MayBeLimited() || len(h.DoorsOf(j.ID)) > 0 && !j.IsTasks():
		return false
	case isLate(h.Scene, j) || h.roomBeside(j) < 1 || len(j.Planned) > 0 && j.User == "":
		return true
	}
	set := places[0]
	if len(j.Planned) > 0 {
		set = cmp.Or(h.Config.FlexSetOf(j.Planned[0]), set)
	}
	return h.limits.obstacle(j, set) != ""
}

// places returns the covered nodesets where the job may start, in the order of its partition list.
func (h *handout) places(j *slurm.Job) []*config.NodeSet { return h.PlacesOf(h.sets, j) }

// leftMachines returns the machines of covered nodesets that were created for jobs and that no job
// has, except those that keep_idle keeps for any job.
func (h *handout) leftMachines() (left []*scene.Node) {
	ends := map[*scene.Node]bool{}
	for _, d := range h.Doors {
		if stage, _ := StageOf(h.Scene, d); stage == DoorEnded || stage == DoorBroken || stage == DoorLate {
			for _, m := range h.NodesNamed(d.Nodes) {
				ends[m] = len(m.Holders) == 0 || len(m.Holders) == 1 && m.Holders[0] == d.Taker
			}
		}
	}
	for _, m := range h.Nodes {
		isFree := ends[m] || m.Door == nil && m.Power == scene.On && !m.Taken() && (m.Cover || m.Set.Flex.KeepIdle == 0)
		if h.sets[m.Set] && (isFree && isSound(h.Scene, m) && m.Machines[0].Origin.ForJobs() || m.Cover && h.isUnclaimed(m)) {
			left = append(left, m)
		}
	}
	return left
}

// isSound reports whether the node's only machine is ours and can serve another job: the machine
// runs or boots, and the node is not withdrawn or reserved.
func isSound(s *scene.Scene, m *scene.Node) bool {
	const unfit = slurm.PowerDown | slurm.PoweringDown | slurm.NotResponding | slurm.Drain | slurm.Fail | slurm.Maintenance
	_, known := s.FreeUntil(m)
	return known && !m.Machines[0].Lost() && m.State.IsIdle() && !m.State.Held() && m.State.Flags&unfit == 0 && !m.Doubted &&
		m.Power != scene.Unclear && !m.Static && len(m.Requests) == 0 && !m.IsUnread && !m.Foreign && s.Seen.Skew <= scene.MaxSkew
}

// offerFor is how long a machine that a job has left is offered to others: several cycles of
// backfill, whose interval is 30 s by default.
const offerFor = 2 * time.Minute

// offer offers the machines that no job has to waiting jobs that they may fit, the most important
// job first. Slurm starts these jobs, or others, on the machines once they are up. A job with a
// door, none of whose machines exist yet, leaves it while enough machines, or nodes of an ordinary
// partition, have just become idle. If Slurm has not started it there after offerFor, it keeps its
// door: Slurm alone knows what fits it.
func (h *handout) offer(left []*scene.Node) {
	idle := map[*config.NodeSet][]*scene.Node{}
	for _, m := range h.Nodes {
		if isWarm(m) && !slices.Contains(left, m) {
			idle[m.Set] = append(idle[m.Set], m)
		}
	}
	left = slices.DeleteFunc(left, func(m *scene.Node) bool { return h.kept[m] || h.isLongIdle(m) })
	others := h.othersJustIdle()
	for _, j := range h.jobs {
		doors := h.DoorsOf(j.ID)
		switch {
		case !j.State.Waits() || j.Priority == 0 || j.HetID != 0 || isLate(h.Scene, j) || h.hasWant(j) || j.WaitsForJobs() || h.StartsLater(j, 0):
			continue
		case len(doors) == 0 && (!h.mayHaveDoor(j, 0) || h.roomBeside(j) < 1):
			continue
		case !h.lackMachines(doors):
			continue
		}
		if fit := sureFor(others, j); len(doors) > 0 && len(fit) >= j.NodeCount {
			for _, d := range doors {
				h.Leaves[d] = true
			}
			others = slices.DeleteFunc(others, func(n *slurm.Node) bool { return slices.Contains(fit[:j.NodeCount], n) })
			continue
		}
		inSlurm := &limits{Scene: h.Scene} // jobs behind doors do not count under Slurm's limits yet
		var needs []string                 // nodes that it gets only without their machines
		if len(doors) == 0 && !h.rests(j) {
			needs = j.Needs
		}
		for _, set := range h.places(j) {
			if isClosed(h.Scene, j, set) || inSlurm.obstacle(j, set) != "" {
				continue
			}
			made := slices.Concat(idle[set], membersOf(left, set))
			if h.Seen.Now.Add(runsFor(j)).After(h.Horizon) {
				// Slurm starts no job on a warm dynamic node that may run beyond the horizon.
				made = slices.DeleteFunc(made, func(m *scene.Node) bool { return !m.Static })
			}
			fit := usable(h.Scene, made, j)
			if len(doors) > 0 {
				fit = slices.DeleteFunc(fit, h.isLongIdle)
			}
			if len(fit) < j.NodeCount {
				continue
			}
			isIn := func(m *scene.Node) bool { return slices.Contains(fit[:j.NodeCount], m) }
			up := true
			for _, m := range fit[:j.NodeCount] {
				if !h.isLongIdle(m) {
					h.kept[m], h.Offered[m] = true, true
				}
				up = up && isWarm(m)
			}
			for _, d := range doors {
				h.Leaves[d] = up
			}
			idle[set], left = slices.DeleteFunc(idle[set], isIn), slices.DeleteFunc(left, isIn)
			needs = nil
			break
		}
		left = slices.DeleteFunc(left, func(m *scene.Node) bool { return slices.Contains(needs, m.Name) })
	}
}

// isLongIdle reports whether the node has been up and idle for so long that Slurm would have started a
// job there.
func (h *handout) isLongIdle(m *scene.Node) bool {
	return m.Power == scene.On && h.IsOld(scene.Later(m.LastBusyTime, m.BootTime), offerFor)
}

// othersJustIdle returns the nodes of no covered nodeset that have just become idle, such as those of an
// ordinary partition. Slurm itself may power up nodes that are not ours.
func (h *handout) othersJustIdle() (nodes []*slurm.Node) {
	const unfit = slurm.Completing | slurm.Drain | slurm.Fail | slurm.Maintenance | slurm.Reserved | slurm.Planned | slurm.PoweringDown
	for i := range h.Seen.Nodes {
		n := &h.Seen.Nodes[i]
		set := h.Config.FlexSetOf(n.Name)
		isFree := n.State.Base == slurm.Idle && n.State.Flags&unfit == 0 && (n.State.IsUp() || set == nil && n.State.Has(slurm.PoweredDown))
		if isFree && !h.sets[set] && !h.IsOld(scene.Later(n.LastBusyTime, n.BootTime), offerFor) {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// sureFor returns the nodes that are in a partition of the job and certain to fit it.
func sureFor(nodes []*slurm.Node, j *slurm.Job) (fit []*slurm.Node) {
	for _, n := range nodes {
		if j.SurelyFits(*n) && slices.ContainsFunc(n.Partitions, func(p string) bool { return slices.Contains(partitionsOf(j), p) }) {
			fit = append(fit, n)
		}
	}
	return fit
}

// membersOf returns those of the nodes that belong to the nodeset.
func membersOf(nodes []*scene.Node, set *config.NodeSet) (own []*scene.Node) {
	for _, m := range nodes {
		if m.Set == set {
			own = append(own, m)
		}
	}
	return own
}

// lackMachines reports whether a job waits for machines at each of the doors, and none of these exists.
func (h *handout) lackMachines(doors []*scene.Door) bool {
	return !slices.ContainsFunc(doors, func(d *scene.Door) bool {
		stage, _ := StageOf(h.Scene, d)
		return stage != DoorBooting || h.AnyPresent(d.Nodes)
	})
}

// hasWant reports whether the job has been assigned anything.
func (h *handed) hasWant(j *slurm.Job) bool {
	return slices.ContainsFunc(h.Wants, func(w want) bool { return w.Job == j })
}

// Inherits reports whether the job gets a door over machines that it has kept.
func (h *handed) Inherits(j *slurm.Job) bool {
	return slices.ContainsFunc(h.Wants, func(w want) bool { return w.Job == j && w.Inherit })
}

// wants reports whether the job gets a door over the node.
func (h *handed) wants(node string, job uint32) bool {
	return slices.ContainsFunc(h.Wants, func(w want) bool { return w.Job.ID == job && slices.Contains(w.Nodes, node) })
}

// isWanted reports whether one of the wants has the node.
func (h *handed) isWanted(node string) bool {
	return slices.ContainsFunc(h.Wants, func(w want) bool { return slices.Contains(w.Nodes, node) })
}

// isPlannable reports whether a machine can be requested for the job on the node, or another job that
// waits no longer has left its place in a shared request with a lease that is long enough.
func (h *handout) isPlannable(m *scene.Node, j *slurm.Job) bool {
	switch {
	case !m.Cold, IsForOthers(h.Scene, m, j):
		return false
	case m.IsCold():
		return true
	case !m.IsAwaited():
		return false
	}
	lease := m.Requests[0].Request.Duration
	return lease == 0 || lease >= scene.Lease(m.Set.Flex, []*slurm.Job{j})
}

// crowdedSince returns since when the job has waited for a nodeset that is not on demand; now if it
// has not waited before.
func (h *handout) crowdedSince(j *slurm.Job) time.Time {
	return scene.Earlier(h.Seen.Now, cmp.Or(h.Seen.Crowded[j.ID], h.Seen.Now))
}

// beginAhead limits how far in the future the BeginTime of a requeued job may be: Slurm sets it two
// minutes ahead.
const beginAhead = 5 * time.Minute

func namesOf(nodes []*scene.Node) (names []string) {
	for _, m := range nodes {
		names = append(names, m.Name)
	}
	return names
}

// without returns those names that are not among others.
func without(names, others []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(others, name) })
}
