package demand

import (
	"fmt"
	"slices"
	"time"

	"slurmflex/config"
	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
)

// planLag is how much later than the end of the cover over cold nodes a plan for these nodes may
// start: it is a multiple of bf_resolution, of 60 to 600 s.
const planLag = 15 * time.Minute

// Horizon returns the moment until which cold nodes are closed, and for which backfill therefore
// plans the jobs that need machines: an hour before the end of what it plans, so that passes need
// not move it often, and never less than an hour ahead, so that it is not reached without a daemon.
func Horizon(s *scene.Scene) time.Time {
	return s.Seen.Now.Add(max(s.Seen.BackfillWindow-time.Hour, time.Hour)).Truncate(time.Second)
}

// isLater reports whether Slurm has planned the job for a later time than that for which it plans
// jobs that need machines: nodes are busy until then, or planned for other jobs.
func isLater(s *scene.Scene, j *slurm.Job) bool { return j.Start.After(Horizon(s).Add(planLag)) }

// plan is where Slurm would start a job if it had machines there.
type plan struct {
	set   *config.NodeSet
	names []string
}

// mayHaveDoor reports whether Slurm may plan the job, and slurmflex may make a reservation for it.
func mayHaveDoor(s *scene.Scene, j *slurm.Job) bool {
	return j.State.Waits() && j.Priority > 0 && j.Reservation == "" && j.User != "" && (j.NodeCount > 0 || len(j.Planned) > 0) &&
		!StartsLater(s, j, 0) && !slurm.WaitsForJobs(j.Reason)
}

// planOf returns where Slurm has planned the job among cold nodes of covered nodesets. The plan of
// an array's row is that of one of its tasks. Without such a plan, why says what the plan lacks, if
// Slurm has one.
func (h *handout) planOf(s *scene.Scene, sets map[*config.NodeSet]bool, j *slurm.Job) (p plan, why string) {
	if len(j.Planned) == 0 {
		return plan{}, ""
	}
	cold, static := map[*config.NodeSet][]string{}, map[*config.NodeSet][]string{}
	for _, name := range j.Planned {
		m := s.Node(name)
		switch {
		case m == nil || !sets[m.Set]:
		case isPlannable(s, m, j):
			cold[m.Set] = append(cold[m.Set], name)
		case m.Set.IsStatic(m.Index) && isWarm(m) && lastsFor(s, m, j):
			static[m.Set] = append(static[m.Set], name)
		}
		if m != nil && len(cold[m.Set]) > len(p.names) {
			p = plan{m.Set, cold[m.Set]}
		}
	}
	for set, names := range static { // another component needs machines
		if j.HetID != 0 && len(names) == len(j.Planned) {
			return plan{set, slices.Sorted(slices.Values(names))}, ""
		}
	}
	switch {
	case misfit(j, j.Planned) != "":
		return plan{}, "" // Slurm shows the old plan of a changed job until its next cycle
	case isLater(s, j) && j.IsTasks():
		first := h.fitting(s, p.set, j, nil) // the last task is planned behind the others
		p.names = first[:min(len(first), len(j.Planned))]
	}
	if isLater(s, j) && !j.IsTasks() || len(p.names) == 0 {
		return plan{}, fmt.Sprintf("Slurm has planned it for %s on %s", j.Start.UTC().Format(time.RFC3339), slurm.Fold(j.Planned))
	}
	// Other planned nodes belong to another nodeset, or have a machine. Cold ones may do as well; a job
	// that needs static nodes too starts on both.
	count := len(j.Planned)
	names := slices.Concat(h.fitting(s, p.set, j, p.names), static[p.set])
	if len(names) < count || misfit(j, names[:count]) != "" {
		if names = slices.Concat(p.names, static[p.set]); len(names) < count {
			return plan{}, fmt.Sprintf("Slurm has planned it on %s, which are not all without a machine in one nodeset", slurm.Fold(j.Planned))
		}
	}
	p.names = slices.Sorted(slices.Values(names[:count]))
	return p, ""
}

// fitting returns the names first, and then the free names of the nodeset that are certain to fit
// the job.
func (h *handout) fitting(s *scene.Scene, set *config.NodeSet, j *slurm.Job, first []string) []string {
	names := slices.Clone(first)
	for _, name := range h.free[set] {
		if m := s.Node(name); j.SurelyFits(*m.Node) && isPlannable(s, m, j) && !slices.Contains(first, name) {
			names = append(names, name)
		}
	}
	return names
}

// placeJobs makes a door for each job without one that Slurm has planned: over exactly the planned
// nodes. More important jobs come first.
func (h *handout) placeJobs(s *scene.Scene, sets map[*config.NodeSet]bool, jobs []*slurm.Job) {
	has, tasks := map[string]bool{}, tasksAtWork(s)
	for _, d := range s.Doors() {
		has[d.Address] = has[d.Address] || !isReplanned(s, d)
	}
	for _, w := range h.Wants {
		has[w.Address] = true
		tasks[w.Job.Array()]++
	}
	placed := map[uint32]bool{} // heterogeneous jobs
	for _, j := range jobs {
		switch {
		case len(h.Wants) >= doorsAtOnce:
			h.countLater(s, sets, j, has)
		case !mayHaveDoor(s, j) || isLate(s, j):
		case j.HetID != 0 && !placed[j.HetID]:
			placed[j.HetID] = true
			h.placeComponents(s, sets, jobs, j.HetID, has)
		case j.HetID == 0:
			most := min(roomBeside(s, j, tasks[j.Array()]), doorsAtOnce-len(h.Wants))
			for i, address := range addresses(j, most, has) {
				if !h.placeJob(s, sets, j, address, i == 0) {
					break
				}
				tasks[j.Array()]++
			}
		}
	}
}

// placeJob makes a door for a job, or for a further task of its array, and reports whether it did.
func (h *handout) placeJob(s *scene.Scene, sets map[*config.NodeSet]bool, j *slurm.Job, address string, isFirst bool) bool {
	if names, set := h.formerNames(s, sets, j, address); names != nil {
		h.want(Want{Job: j, Address: address, Set: set, Nodes: names})
		return true
	}
	p, why := h.planOf(s, sets, j)
	if p.set == nil {
		if isFirst {
			h.leaveUnplanned(s, sets, j, why)
		}
		return false
	}
	if why = h.obstacleAt(s, sets, j, p.set); why != "" && isFirst {
		p = h.elsewhere(s, sets, j, p)
		why = h.obstacleAt(s, sets, j, p.set)
	}
	if why != "" {
		h.holdBack(j, p.set, why)
		return false
	}
	names := p.names
	if !isFirst {
		if names = h.fitting(s, p.set, j, nil); len(names) < j.NodeCount {
			return false
		}
		names = names[:j.NodeCount]
	}
	if h.isTaken(s, names, address) {
		return false // Slurm's plan is older than the door of another job
	}
	h.want(Want{Job: j, Address: address, Set: p.set, Nodes: names})
	return true
}

// isTaken reports whether one of the nodes is behind another door, or kept for another job that was
// changed.
func (h *handout) isTaken(s *scene.Scene, names []string, address string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		d := s.Node(name).Changed
		return slices.Contains(h.taken, name) || d != nil && d.Address != address
	})
}

// planAge is how long after a change of a job Slurm may still show its old plan.
const planAge = time.Minute

// isReplanned reports whether the job of the door was changed, and Slurm shows no plan from before the
// change any more: the door was set to start KeptFor after the change was noticed.
func isReplanned(s *scene.Scene, d *scene.Door) bool {
	return d.Changed && !d.End.After(d.Start.Add(DoorPurge)) && !s.Seen.Now.Before(d.Start.Add(planAge-KeptFor))
}

// want records a want for a job's first place.
func (h *handout) want(w Want) {
	h.take(w)
	h.limits.take(w.Job, w.Set, len(w.Nodes))
}

// take records a want, and removes its names from the free ones. A live request for one of them, which
// jobs share, is kept for it.
func (h *handout) take(w Want) {
	h.Wants = append(h.Wants, w)
	h.taken = append(h.taken, w.Nodes...)
	h.free[w.Set] = without(h.free[w.Set], w.Nodes)
}

// placeComponents makes a door for each component of a heterogeneous job, once Slurm has planned all
// of them: Slurm starts them together.
func (h *handout) placeComponents(s *scene.Scene, sets map[*config.NodeSet]bool, jobs []*slurm.Job, id uint32, has map[string]bool) {
	var wants []Want
	for _, j := range jobs {
		if j.HetID != id || has[j.Address()] {
			continue
		}
		if len(PlacesOf(s, sets, j)) == 0 {
			continue
		}
		p, why := h.planOf(s, sets, j)
		if p.set == nil {
			h.leaveUnplanned(s, sets, j, why)
			return
		}
		if why = h.obstacleAt(s, sets, j, p.set); why != "" || !mayHaveDoor(s, j) || h.isTaken(s, p.names, j.Address()) {
			h.holdBack(j, p.set, why)
			return
		}
		wants = append(wants, Want{Job: j, Address: j.Address(), Set: p.set, Nodes: p.names})
	}
	for _, w := range wants {
		w.Open = OpensAtOnce(s, w.Job)
		h.want(w)
	}
}

// OpensAtOnce reports whether the doors of a job open at once: it is a component of a heterogeneous job,
// and another component waits CONFIGURING, so that all do.
func OpensAtOnce(s *scene.Scene, j *slurm.Job) bool {
	return j.HetID != 0 && slices.ContainsFunc(s.Seen.Jobs, func(other slurm.Job) bool {
		return other.HetID == j.HetID && len(PlacesOf(s, Covered(s), &other)) == 0 && len(PlacesOf(s, ours(s), &other)) > 0
	})
}

// formerNames returns the nodes of a live request that was made for the job, if the job can still
// use them: a job that has lost its door keeps its place in Google's queue.
func (h *handout) formerNames(s *scene.Scene, sets map[*config.NodeSet]bool, j *slurm.Job, address string) ([]string, *config.NodeSet) {
	if j.IsTasks() || j.HetID != 0 || address != j.Address() || changedDoor(s, address) != nil {
		return nil, nil
	}
	for _, r := range s.LiveRequests() {
		if r.Group.Stamp.Job != j.ID || r.Group.Stamp.Shared() || len(r.Request.Instances) < max(j.NodeCount, 1) {
			continue
		}
		names := slices.Sorted(slices.Values(r.Request.Instances))
		set := s.Config.FlexSetOf(names[0])
		fits := set != nil && slices.Contains(PlacesOf(s, sets, j), set) && misfit(j, names) == ""
		for _, name := range names {
			m := s.Node(name)
			fits = fits && m != nil && m.Set == set && isVacant(s, m) && len(s.RequestsOf(name)) == 1 && !slices.Contains(h.taken, name)
		}
		if fits {
			return names, set
		}
	}
	return nil, nil
}

// misfit returns why nodes no longer fit what the job requests by name; empty if they may. Their number
// is Slurm's choice: squeue shows the most that a job accepts, or an estimate from the CPUs of one of its
// partitions.
func misfit(j *slurm.Job, nodes []string) string {
	needs, err := slurm.Expand(j.Needs)
	excluded, bad := slurm.Expand(j.Excludes)
	switch {
	case err == nil && len(without(needs, nodes)) > 0:
		return fmt.Sprintf("its job asks for %s now", slurm.Fold(needs))
	case bad == nil && len(without(nodes, excluded)) < len(nodes):
		return fmt.Sprintf("its job excludes %s now", slurm.Fold(excluded))
	}
	return ""
}

// planSoon is how long a job with enough free nodes may wait for backfill to plan it, while less
// important jobs wait for it: several cycles of backfill.
const planSoon = 2 * time.Minute

// keepFor keeps the free nodes of a nodeset for a job that is certain to fit there, and that Slurm
// cannot plan because too few are free, or were in its last cycle. Less important jobs would otherwise
// take each node that becomes free.
func (h *handout) keepFor(s *scene.Scene, sets map[*config.NodeSet]bool, j *slurm.Job) {
	if !LacksNodes(*j) || j.IsTasks() {
		return
	}
	for _, set := range PlacesOf(s, sets, j) {
		fit, all := 0, 0
		for _, m := range s.Nodes() {
			if m.Set != set || m.Set.IsStatic(m.Index) || !j.SurelyFits(*m.Node) || IsForeign(s, m) || m.IsWithdrawn() {
				continue
			}
			all++
			if h.isOpen(s, m) {
				fit++
			}
		}
		since := s.Seen.Unasked[j.ID] // since when enough are free
		isShort := fit < j.NodeCount || since.IsZero() || !s.IsOld(since, planSoon)
		if h.short[set] == nil && fit > 0 && isShort && all >= j.NodeCount && surelyTakes(s, j, set) && h.limits.obstacle(j, set) == "" {
			h.short[set] = j
			return
		}
	}
}

// isOpen reports whether Slurm may plan jobs on the node, and no job gets it in this pass.
func (h *handout) isOpen(s *scene.Scene, m *scene.Node) bool {
	return IsOpenToPlans(s, m) && !slices.Contains(h.taken, m.Name)
}

// leaveUnplanned records why a job gets no door that Slurm has not planned, or not on nodes of ours.
func (h *handout) leaveUnplanned(s *scene.Scene, sets map[*config.NodeSet]bool, j *slurm.Job, why string) {
	places := PlacesOf(s, sets, j)
	if len(places) == 0 {
		return
	}
	if d := changedDoor(s, j.Address()); d != nil {
		why = fmt.Sprintf("what it requests was changed, and Slurm has not planned it since: its request is kept until %s", d.Start.UTC().Format(time.RFC3339))
	}
	if why == "" && (LacksNodes(*j) || mayBeLimited(*j)) {
		why = h.limits.obstacle(j, places[0])
	}
	h.holdBack(j, places[0], why)
	h.keepFor(s, sets, j)
}

// obstacleAt returns why a planned job gets no door in the nodeset now; empty if it may.
func (h *handout) obstacleAt(s *scene.Scene, sets map[*config.NodeSet]bool, j *slurm.Job, set *config.NodeSet) string {
	places := PlacesOf(s, sets, j)
	switch by := h.short[set]; {
	case isClosed(s, j, set):
		return closedPartition
	case isDear(s, places, set, s.Seen.Now.Sub(crowdedSince(s, j))):
		h.Crowded[j.ID] = crowdedSince(s, j)
		return fmt.Sprintf("no cheaper nodeset has free nodes that are certain to fit it, and on_demand_after keeps it from nodeset %s until %s",
			set.Name, crowdedSince(s, j).Add(s.Config.Options.OnDemandAfter).UTC().Format(time.RFC3339))
	case by != nil && by != j:
		return fmt.Sprintf("free nodes of nodeset %s are kept for job %s, which is more important and needs %d", set.Name, by.Name(), by.NodeCount)
	}
	return h.limits.obstacle(j, set)
}

// isDear reports whether on_demand_after still keeps a job from the nodeset, after that time: it is on
// demand, and other nodesets of the job are not.
func isDear(s *scene.Scene, places []*config.NodeSet, set *config.NodeSet, waited time.Duration) bool {
	cheaper := slices.ContainsFunc(places, func(set *config.NodeSet) bool { return set.Flex.Capacity != config.OnDemand })
	return cheaper && set.Flex.Capacity == config.OnDemand && waited < s.Config.Options.OnDemandAfter
}

// elsewhere returns nodes for a job that gets no door where Slurm has planned it, in another nodeset
// where it is certain to fit; otherwise its plan.
func (h *handout) elsewhere(s *scene.Scene, sets map[*config.NodeSet]bool, j *slurm.Job, p plan) plan {
	for _, set := range PlacesOf(s, sets, j) {
		if set == p.set || !surelyTakes(s, j, set) || h.obstacleAt(s, sets, j, set) != "" {
			continue
		}
		if names := h.fitting(s, set, j, nil); len(names) >= j.NodeCount {
			return plan{set, names[:j.NodeCount]}
		}
	}
	return p
}

// countLater counts a planned job that gets a door in a later pass.
func (h *handout) countLater(s *scene.Scene, sets map[*config.NodeSet]bool, j *slurm.Job, has map[string]bool) {
	if p, _ := h.planOf(s, sets, j); p.set != nil && mayHaveDoor(s, j) && !isLate(s, j) && !has[j.Address()] && h.limits.obstacle(j, p.set) == "" {
		h.limits.take(j, p.set, len(p.names))
		h.countLack(j, p.set)
	}
}

func (h *handout) countLack(j *slurm.Job, set *config.NodeSet) {
	h.Later[UserIn{Region: set.Region}]++
	if j.User != "" {
		h.Later[UserIn{set.Region, j.User}]++
	}
}

// UserIn is a Slurm user in a region. An empty name means no user.
type UserIn struct{ Region, Name string }
