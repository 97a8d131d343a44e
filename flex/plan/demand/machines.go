package demand

import (
	"fmt"
	"slices"
	"time"

	"slurmflex/config"
	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
)

// Handout is what pending jobs get in a pass: doors over machines and names, or idle machines from
// Slurm.
type Handout struct {
	Wants  []Want
	Held   []Wait                 // see Plan.Held
	Later  map[UserIn]int         // the jobs that lack a request and get a door in this pass or a later one
	Ends   map[*scene.Door]string // why the pass ends doors of second places that lack all machines
	Leaves map[*scene.Door]bool   // doors of jobs that can start on idle machines instead
	// Crowded holds since when jobs lack free nodes; see scene.Memory.
	Crowded map[uint32]time.Time
	warm    map[*slurm.Job]*config.NodeSet // the jobs that can start on idle machines, and where
	// The names of jobs that get them in a later pass. These jobs already count against limits.
	promised map[*slurm.Job][]string
	aside    map[*config.NodeSet][]share
	rank     map[*slurm.Job]int // see ByTier
	// Nodes with machines that no job has now, and that a job gets or keeps.
	kept   map[*scene.Node]bool
	opened map[string]uint32 // the names that leave the cover, and the job for which they do
	limits *limits
}

// stock is what a nodeset has available for pending jobs.
type stock struct {
	cold []string      // names of nodes without machines, lowest first
	warm []*scene.Node // idle machines that Slurm may allocate to any job
	left []*scene.Node // machines that no job has and that Slurm keeps from all jobs
	// Nodes without a job whose machines are requested together with others.
	awaited []*scene.Node
	coming  []string // names of nodes whose former request is still to be cancelled
	// Doors of second places that first places may end, those of the least important job first.
	second []*scene.Door
	aside  []share // taken out of cold and second
}

// handOut assigns machines and names to jobs, the most important job first, so that none is
// assigned twice. A job that fits idle machines is left to Slurm. Otherwise the job gets machines
// that another job has left, if there are enough, or the lowest free names. If too few are free,
// they are set aside for it. A job that has lost some of its machines first gets its others. A job's
// second place is served after the first places
// of all jobs, and hands over its names to them.
func handOut(s *scene.Scene) Handout {
	h := Handout{
		Ends: map[*scene.Door]string{}, Leaves: map[*scene.Door]bool{}, kept: map[*scene.Node]bool{}, opened: map[string]uint32{}, Later: map[UserIn]int{},
		Crowded: map[uint32]time.Time{}, warm: map[*slurm.Job]*config.NodeSet{}, promised: map[*slurm.Job][]string{},
	}
	sets, jobs := Covered(s), ByTier(s)
	if len(s.Covers()) == 0 {
		h.open(s, sets, jobs)
		return h
	}
	h.limits, h.Held = limitsOf(s), lateWaits(s)
	h.rank = make(map[*slurm.Job]int, len(jobs))
	for i, j := range jobs {
		h.rank[j] = i
	}
	has := map[string]bool{}
	for _, d := range s.Doors() {
		has[d.Address] = true
	}
	stocks := stocksOf(s, sets)
	for _, j := range jobs {
		for _, set := range PlacesOf(s, sets, j) {
			if !has[j.Address()] && !h.hasWant(j) {
				h.keepSurvivors(s, stocks[set], set, j)
			}
		}
	}
	seekers := h.seekers(s, sets, stocks, jobs, has)
	addSecondDoors(s, seekers, stocks)
	for had := range s.Config.Options.MaxPlaces {
		for i := range seekers {
			k := &seekers[i]
			if had == 0 && slices.ContainsFunc(k.has, func(set *config.NodeSet) bool { return h.inherit(s, stocks[set], set, k) }) {
				k.places = nil
			}
			if len(k.has) == had && len(h.Wants) < doorsAtOnce {
				h.givePlace(s, stocks, k)
				if len(k.has) == 0 && h.promised[k.job] == nil && !h.hold(k.job, k.places) {
					h.setAside(s, stocks, k)
				}
			}
		}
	}
	h.countCrowded(s, seekers)
	h.countLater(s, stocks, seekers)
	h.Wants = append(h.Wants, h.hetWants(s, sets, stocks, has)...)
	h.aside = map[*config.NodeSet][]share{}
	for set, of := range stocks {
		h.aside[set] = of.aside
	}
	h.open(s, sets, jobs)
	h.Held = append(h.Held, unasked(s, &h)...)
	h.Wants = append(h.Wants, h.coldWant(s)...)
	return h
}

// countCrowded records since when jobs without a door have lacked free nodes, or nodes that they
// start on. The count goes on while idle machines fit a job, because Slurm may give them to another.
func (h *Handout) countCrowded(s *scene.Scene, seekers []seeker) {
	for i := range seekers {
		if k := &seekers[i]; len(k.has) == 0 && !h.isHeld(k.job) && len(h.Wants) < doorsAtOnce {
			h.Crowded[k.job.ID] = k.since
		}
	}
	for id, late := range s.Seen.Late {
		if j := s.Job(id); j != nil && len(late.In) > 0 && LacksNodes(*j) && len(s.DoorsOf(id)) == 0 {
			h.Crowded[id] = crowdedSince(s, j)
		}
	}
	for j := range h.warm {
		if since := s.Seen.Crowded[j.ID]; !since.IsZero() {
			h.Crowded[j.ID] = since
		}
	}
}

// countLater counts the jobs that get a door in this pass, or would get one if a pass made more, by
// region and by user.
func (h *Handout) countLater(s *scene.Scene, stocks map[*config.NodeSet]*stock, seekers []seeker) {
	left := map[*config.NodeSet]int{}
	for set, of := range stocks {
		left[set] = len(of.cold)
	}
	for _, w := range h.Wants {
		if !w.Further && !w.Inherit && len(s.RequestsOf(w.Nodes[0])) == 0 {
			h.countLack(w.Job, w.Set)
		}
	}
	if len(h.Wants) < doorsAtOnce {
		return
	}
	for i := range seekers {
		k := &seekers[i]
		if len(k.has) > 0 || len(k.places) == 0 {
			continue
		}
		for _, set := range k.next(s) {
			if left[set] >= k.job.NodeCount && h.limits.obstacle(k.job, set) == "" {
				left[set] -= k.job.NodeCount
				h.limits.take(k.job, set, k.job.NodeCount)
				h.countLack(k.job, set)
				break
			}
		}
	}
}

func (h *Handout) countLack(j *slurm.Job, set *config.NodeSet) {
	h.Later[UserIn{Region: set.Region}]++
	if j.User != "" {
		h.Later[UserIn{set.Region, j.User}]++
	}
}

// givePlace assigns a job names in the first nodeset that has enough.
func (h *Handout) givePlace(s *scene.Scene, stocks map[*config.NodeSet]*stock, k *seeker) {
	for _, set := range k.next(s) {
		of, first := stocks[set], len(k.has) == 0
		if first && h.limits.obstacle(k.job, set) != "" || !first && h.limits.obstacleElsewhere(k.job, k.has[0], set) != "" {
			continue
		}
		defer h.lend(of, k.job, s.Seen.Now)()
		if first && h.inherit(s, of, set, k) {
			k.places, k.has = nil, append(k.has, set)
			h.limits.take(k.job, set, k.job.NodeCount)
			return
		}
		if first && h.joinRequest(s, of, set, k) {
			k.has = append(k.has, set)
			h.limits.take(k.job, set, k.job.NodeCount)
			return
		}
		if names := namesFor(of.cold, k.job); names != nil {
			of.cold = without(of.cold, names)
			h.Wants = append(h.Wants, Want{Job: k.job, Address: k.address, Set: set, Nodes: names, Further: !first})
			if first {
				h.limits.take(k.job, set, k.job.NodeCount)
			}
			k.has = append(k.has, set)
			return
		}
		if !first {
			continue
		}
		if names := namesFor(slices.Sorted(slices.Values(slices.Concat(of.cold, of.coming))), k.job); names != nil {
			of.cold, of.coming = without(of.cold, names), without(of.coming, names)
			h.promise(k, set, names)
			k.places = nil
			return
		}
		if names, ends := namesOver(of.cold, of.second, k.job); names != nil {
			for _, d := range ends {
				h.Ends[d] = fmt.Sprintf("job %s waits nowhere else and gets these nodes", k.address)
			}
			of.cold = without(of.cold, names)
			of.second = slices.DeleteFunc(of.second, func(d *scene.Door) bool { return h.Ends[d] != "" })
			k.places, k.has = nil, append(k.has, set)
			h.promise(k, set, names)
			return
		}
	}
}

// promise notes that the job gets names in a later pass, once they are free.
func (h *Handout) promise(k *seeker, set *config.NodeSet, names []string) {
	h.promised[k.job] = append(h.promised[k.job], names...)
	h.countLack(k.job, set)
	h.limits.take(k.job, set, k.job.NodeCount)
}

// hold reports whether a limit keeps the job from starting in each of the places, and records the
// limit once.
func (h *Handout) hold(j *slurm.Job, places []*config.NodeSet) bool {
	if len(places) == 0 || slices.ContainsFunc(places, func(set *config.NodeSet) bool { return h.limits.obstacle(j, set) == "" }) {
		return false
	}
	if !slices.ContainsFunc(h.Held, func(w Wait) bool { return w.Job == j.ID }) {
		h.Held = append(h.Held, heldBack(j, places[0], h.limits.obstacle(j, places[0])))
	}
	return true
}

// stocksOf returns the stock of each nodeset. Nodesets that are not covered have names for
// heterogeneous jobs only.
func stocksOf(s *scene.Scene, sets map[*config.NodeSet]bool) map[*config.NodeSet]*stock {
	stocks := map[*config.NodeSet]*stock{}
	for _, set := range s.Config.FlexSets() {
		stocks[set] = &stock{}
	}
	ends := map[*scene.Node]bool{}
	for _, d := range s.Doors() {
		if stage, _ := StageOf(s, d); stage == DoorEnded || stage == DoorBroken || stage == DoorLate {
			for _, m := range membersNamed(s, d.Nodes) {
				ends[m] = len(m.Holders) == 0 || len(m.Holders) == 1 && m.Holders[0] == d.Taker
			}
		}
	}
	for _, m := range s.Nodes() {
		of := stocks[m.Set]
		switch {
		case isCold(s, m) && (m.Cover || !sets[m.Set]):
			of.cold = append(of.cold, m.Name)
		case isWarm(m):
			of.warm = append(of.warm, m)
		case !sets[m.Set]:
		case m.Cover && isAwaited(s, m):
			of.awaited = append(of.awaited, m)
		case m.Cover && isVacant(s, m) && len(m.Machines) == 0 && len(s.RequestsOf(m.Name)) > 0:
			of.coming = append(of.coming, m.Name)
		case ends[m] && isSound(s, m), m.Cover && isUnclaimed(s, m), m.Cover && m.Door == nil && m.Power == scene.On && !m.Taken() && isSound(s, m):
			of.left = append(of.left, m)
		}
	}
	return stocks
}

// isSound reports whether the node's only machine is ours and can serve another job: the machine
// runs or boots, and the node is not withdrawn or reserved.
func isSound(s *scene.Scene, m *scene.Node) bool {
	const unfit = slurm.PowerDown | slurm.PoweringDown | slurm.NotResponding | slurm.Drain | slurm.Fail | slurm.Maintenance
	_, known := s.FreeUntil(m)
	return known && !m.Machines[0].Lost() && m.State.IsIdle() && !m.State.Held() && m.State.Flags&unfit == 0 && !m.Doubted &&
		m.Power != scene.Unclear && !m.Set.IsStatic(m.Index) && len(s.RequestsOf(m.Name)) == 0 && !s.IsUnread(m) && !IsForeign(s, m) && s.Seen.Skew <= scene.MaxSkew
}

// isStillBooting reports whether the door's job waits for machines.
func isStillBooting(s *scene.Scene, d *scene.Door) bool {
	stage, _ := StageOf(s, d)
	return stage == DoorBooting
}

// hasWant reports whether the job has been assigned anything.
func (h *Handout) hasWant(j *slurm.Job) bool {
	return slices.ContainsFunc(h.Wants, func(w Want) bool { return w.Job == j })
}

// Inherits reports whether the job has been assigned existing machines.
func (h *Handout) Inherits(j *slurm.Job) bool {
	return slices.ContainsFunc(h.Wants, func(w Want) bool { return w.Job == j && w.Inherit })
}

// takeWarm reports whether the job fits idle machines, and removes these from the stock: Slurm is
// about to start the job there, unless a limit keeps it from that. Jobs behind doors do not count
// under Slurm's limits yet.
func (h *Handout) takeWarm(s *scene.Scene, stocks map[*config.NodeSet]*stock, j *slurm.Job) bool {
	inSlurm := &limits{Scene: s}
	for _, name := range openTo(s, j) {
		p, known := s.Config.Partition(name)
		if !known {
			continue
		}
		for _, set := range s.Config.SetsOf(*p) {
			of := stocks[set]
			if of == nil || wasLate(s, j, set) {
				continue
			}
			if idle := usable(s, of.warm, j); len(idle) >= j.NodeCount && inSlurm.obstacle(j, set) == "" {
				of.warm = slices.DeleteFunc(of.warm, func(m *scene.Node) bool { return slices.Contains(idle[:j.NodeCount], m) })
				h.warm[j] = set
				return true
			}
		}
	}
	return false
}

// inherit assigns the job machines that no job has, if enough of them last as long as the job may
// run.
func (h *Handout) inherit(s *scene.Scene, of *stock, set *config.NodeSet, k *seeker) bool {
	if k.job.Limit.Kind != slurm.LimitSet {
		return false
	}
	names := namesFor(namesOf(usable(s, of.left, k.job)), k.job)
	if names == nil {
		return false
	}
	h.take(s, of, Want{Job: k.job, Address: k.address, Set: set, Nodes: names, Inherit: true})
	return true
}

// joinRequest assigns a one-node job the place of another job in a live request, if the lease is
// long enough.
func (h *Handout) joinRequest(s *scene.Scene, of *stock, set *config.NodeSet, k *seeker) bool {
	if k.job.NodeCount != 1 {
		return false
	}
	var fit []string
	for _, m := range of.awaited {
		if lease := s.RequestsOf(m.Name)[0].Request.Duration; lease == 0 || lease >= scene.Lease(set.Flex, []*slurm.Job{k.job}) {
			fit = append(fit, m.Name)
		}
	}
	names := namesFor(fit, k.job)
	if names == nil {
		return false
	}
	h.kept[s.Node(names[0])] = true
	of.awaited = slices.DeleteFunc(of.awaited, func(m *scene.Node) bool { return m.Name == names[0] })
	h.Wants = append(h.Wants, Want{Job: k.job, Address: k.address, Set: set, Nodes: names})
	return true
}

// take assigns the machines and names to a job.
func (h *Handout) take(s *scene.Scene, of *stock, w Want) {
	w.Open = !StartsLater(s, w.Job, 0)
	for _, m := range membersNamed(s, w.Nodes) {
		if slices.Contains(of.left, m) {
			h.kept[m] = true
		}
		w.Open = w.Open && m.Power == scene.On
	}
	of.left = slices.DeleteFunc(of.left, func(m *scene.Node) bool { return h.kept[m] })
	of.cold = without(of.cold, w.Nodes)
	h.Wants = append(h.Wants, w)
}

// beginAhead limits how far in the future the BeginTime of a requeued job may be: Slurm sets it two
// minutes ahead.
const beginAhead = 5 * time.Minute

// StartsLater reports whether the job must not start within that time, because Slurm has requeued
// it or its owner set a later start.
func StartsLater(s *scene.Scene, j *slurm.Job, ahead time.Duration) bool {
	return j.Reason == slurm.BeginTime && j.Start.After(s.Seen.Now.Add(ahead))
}

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
