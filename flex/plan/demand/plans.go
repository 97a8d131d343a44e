package demand

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"slurmflex/config"
	"slurmflex/flex/plan/memo"
	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
)

// planLag is how much later than the end of the cover over cold nodes a plan for these nodes may
// start: it is a multiple of bf_resolution, of 60 to 600 s.
const planLag = 15 * time.Minute

// isLater reports whether Slurm has planned the job for a later time than that for which it plans
// jobs that need machines: nodes are busy until then, or planned for other jobs.
func (h *handout) isLater(j *slurm.Job) bool { return j.Start.After(h.Horizon.Add(planLag)) }

// plan is where Slurm would start a job if it had machines there.
type plan struct {
	set   *config.NodeSet
	names []string
}

// mayHaveDoor reports whether Slurm may plan the job, or will within that time, and slurmflex may make a
// reservation for it.
func (h *handout) mayHaveDoor(j *slurm.Job, ahead time.Duration) bool {
	return j.MayStart() && (j.NodeCount > 0 || len(j.Planned) > 0) && !h.StartsLater(j, ahead) && !isLate(h.Scene, j)
}

// planOf returns where Slurm has planned the job among cold nodes of covered nodesets. The plan of
// an array's row is that of one of its tasks. Without such a plan, why says what the plan lacks, if
// Slurm has one.
func (h *handout) planOf(j *slurm.Job) (p plan, why string) {
	if len(j.Planned) == 0 {
		return plan{}, ""
	}
	cold, static := map[*config.NodeSet][]string{}, map[*config.NodeSet][]string{}
	for _, name := range j.Planned {
		m := h.Node(name)
		switch {
		case m == nil || !h.sets[m.Set]:
		case h.isPlannable(m, j):
			cold[m.Set] = append(cold[m.Set], name)
		case m.Static && isWarm(m) && lastsFor(h.Scene, m, j):
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
	case h.isLater(j) && j.IsTasks():
		// The row shows the plan of the last task, behind the others. Its nodes fit the first one, too.
		first := h.fitting(p.set, j, without(p.names, without(p.names, h.free[p.set])))
		p.names = first[:min(len(first), len(j.Planned))]
	}
	if r := h.barrier(j); r != nil && len(p.names) == 0 {
		when := " until"
		if r.Start.After(h.Seen.Now) {
			when = fmt.Sprintf(" before it would end: from %s to", r.Start.UTC().Format(time.RFC3339))
		}
		return plan{}, fmt.Sprintf("Slurm has planned it on %s, but %s is reserved for others%s %s",
			slurm.Fold(j.Planned), j.Planned[0], when, r.End.UTC().Format(time.RFC3339))
	}
	if len(p.names) == 0 && j.Start.IsZero() {
		return plan{}, "" // Slurm shows the nodes of an old plan until its next cycle
	}
	if h.isLater(j) && !j.IsTasks() || len(p.names) == 0 {
		return plan{}, fmt.Sprintf("Slurm has planned it for %s on %s", j.Start.UTC().Format(time.RFC3339), slurm.Fold(j.Planned))
	}
	// Other planned nodes belong to another nodeset, or have a machine. Cold ones may do as well; a job
	// that needs static nodes too starts on both.
	count := len(j.Planned)
	names := slices.Concat(h.fitting(p.set, j, p.names), static[p.set])
	if len(names) < count || misfit(j, names[:count]) != "" {
		if names = slices.Concat(p.names, static[p.set]); len(names) < count {
			// Slurm has planned it in several nodesets.
			if other := h.elsewhere(j, plan{set: p.set}, h.sets); other.names != nil {
				return other, ""
			}
			all := slices.Concat(slices.Collect(maps.Values(cold))...)
			if len(all) == count && !slices.ContainsFunc(h.places(j), func(set *config.NodeSet) bool { return set.Size() >= count }) {
				return plan{p.set, slices.Sorted(slices.Values(all))}, "" // it is larger than each of them
			}
			return plan{}, fmt.Sprintf("Slurm has planned it on %s, but no machine can be requested for %s, which has one, is reserved for others, or belongs to another nodeset",
				slurm.Fold(j.Planned), slurm.Fold(without(j.Planned, names)))
		}
	}
	p.names = slices.Sorted(slices.Values(names[:count]))
	return p, ""
}

// barrier returns a reservation of others that keeps the job from the first node that Slurm has planned for it;
// nil without one.
func (h *handout) barrier(j *slurm.Job) *slurm.Reservation {
	if len(j.Planned) == 0 || h.isLater(j) || h.Node(j.Planned[0]) == nil {
		return nil
	}
	return forOthers(h.Scene, h.Node(j.Planned[0]), j)
}

// planOrSpares returns the plan for a job, or free nodes where Slurm cannot plan it, because others rest, or
// does not, because it does not know that the job cannot start on the planned nodes now.
func (h *handout) planOrSpares(j *slurm.Job) (p plan, why string) {
	p, why = h.planOf(j)
	switch {
	case p.set != nil:
	case h.barrier(j) != nil:
		p = h.elsewhere(j, p, h.sets)
	case why != "" || h.isOverdue(j):
		p = h.elsewhere(j, p, h.spares)
	}
	return p, why
}

// fitting returns the names first, and then the free names of the nodeset that are certain to fit
// the job. Slurm alone knows which of them belong to one switch.
func (h *handout) fitting(set *config.NodeSet, j *slurm.Job, first []string) []string {
	names := slices.Clone(first)
	if h.chargeOf(j).ByPosition {
		return names
	}
	for _, name := range h.free[set] {
		if m := h.Node(name); j.SurelyFits(*m.Node) && h.isPlannable(m, j) && !slices.Contains(first, name) {
			names = append(names, name)
		}
	}
	return names
}

// chargeOf returns how the job chooses its nodes; if that is unread, in every way.
func (h *handout) chargeOf(j *slurm.Job) slurm.Charge {
	if h.Seen.AllowancesErr != nil {
		return slurm.Charge{ByPosition: true, ByHardware: true}
	}
	return h.Seen.Allowances.ChargeOf(j)
}

// placeJobs makes a door for each job without one that Slurm has planned: over exactly the planned
// nodes. More important jobs come first.
func (h *handout) placeJobs() {
	has := map[string]bool{}
	for _, d := range h.Doors {
		has[d.Address] = has[d.Address] || !h.isReplanned(d)
	}
	for _, w := range h.Wants {
		has[w.Address] = true
	}
	placed := map[uint32]bool{} // heterogeneous jobs
	for _, j := range h.jobs {
		switch {
		case len(h.Wants) >= doorsAtOnce:
			h.countLater(j, has)
		case !h.mayHaveDoor(j, 0):
		case j.HetID != 0 && !placed[j.HetID]:
			placed[j.HetID] = true
			h.placeComponents(j.HetID, has)
		case j.HetID == 0:
			most := min(h.roomBeside(j), doorsAtOnce-len(h.Wants))
			for i, address := range addresses(j, most, has) {
				if !h.placeJob(j, address, i == 0) {
					break
				}
			}
		}
	}
}

// placeJob makes a door for a job, or for a further task of its array, and reports whether it did.
func (h *handout) placeJob(j *slurm.Job, address string, isFirst bool) bool {
	if names, set := h.formerNames(j, address); names != nil {
		h.give(want{Job: j, Address: address, Set: set, Nodes: names})
		return true
	}
	p, why := h.planOrSpares(j)
	if p.set == nil {
		if isFirst {
			h.leaveUnplanned(j, why)
		}
		return false
	}
	if why = h.obstacleAt(j, p); why != "" && isFirst {
		p = h.elsewhere(j, p, h.sets)
		why = h.obstacleAt(j, p)
	}
	if why != "" {
		h.holdBack(j, p.set, why)
		return false
	}
	names := p.names
	if !isFirst {
		if names = h.unkept(j, p.set, h.fitting(p.set, j, nil)); len(names) < len(p.names) {
			return false
		}
		names = names[:len(p.names)]
	}
	if h.isTaken(names, address) {
		return false // Slurm's plan is older than the door of another job
	}
	h.give(want{Job: j, Address: address, Set: p.set, Nodes: names})
	return true
}

// planAge is how long after a change of a job Slurm may still show its old plan.
const planAge = time.Minute

// isReplanned reports whether the job of the door was changed, and Slurm shows no plan from before the
// change any more: the door was set to start KeptFor after the change was noticed.
func (h *handout) isReplanned(d *scene.Door) bool {
	return d.Changed && !d.End.After(d.Start.Add(DoorPurge)) && !h.Seen.Now.Before(d.Start.Add(planAge-KeptFor))
}

// give records a want for a job's first place.
func (h *handout) give(w want) {
	h.take(w)
	h.tasks[w.Job.Array()]++
	h.limits.take(w.Job, w.Set, len(w.Nodes))
}

// take records a want, and removes its names from the free ones. A live request for one of them, which
// jobs share, is kept for it.
func (h *handout) take(w want) {
	h.Wants = append(h.Wants, w)
	for set, free := range h.free {
		if set == w.Set || w.Set.Size() < len(w.Nodes) {
			h.free[set] = without(free, w.Nodes)
		}
	}
}

// placeComponents makes a door for each component of a heterogeneous job, once Slurm has planned all
// of them: Slurm starts them together.
func (h *handout) placeComponents(id uint32, has map[string]bool) {
	var wants []want
	free := maps.Clone(h.free)
	defer func() { // one that Slurm has planned waits for the others
		for _, j := range h.jobs {
			if j.HetID != id || len(h.DoorsOf(j.ID)) > 0 || h.hasWant(j) {
				continue
			}
			if p, _ := h.planOf(j); p.set != nil {
				h.holdBack(j, p.set, "another component of its job gets no nodes yet")
			}
		}
	}()
	for _, j := range h.jobs {
		if j.HetID != id || has[j.Address()] {
			continue
		}
		if len(h.places(j)) == 0 {
			continue
		}
		p, why := h.planOrSpares(j)
		if p.set == nil {
			h.free = free
			h.leaveUnplanned(j, why)
			return
		}
		if why = h.obstacleAt(j, p); why != "" || !h.mayHaveDoor(j, 0) || h.isTaken(p.names, j.Address()) {
			h.free = free
			h.holdBack(j, p.set, why)
			return
		}
		wants = append(wants, want{Job: j, Address: j.Address(), Set: p.set, Nodes: p.names})
		h.free[p.set] = without(h.free[p.set], p.names)
	}
	for _, w := range wants {
		w.Open = h.OpensAtOnce(w.Job)
		h.give(w)
	}
}

// formerNames returns the nodes of a live request that was made for the job, if the job can still
// use them: a job that has lost its door keeps its place in Google's queue. Requests from before machines
// were requested again, after a wait that was too long, do not count.
func (h *handout) formerNames(j *slurm.Job, address string) ([]string, *config.NodeSet) {
	if j.IsTasks() || j.HetID != 0 || address != j.Address() || h.changedDoor(address) != nil {
		return nil, nil
	}
	done, _ := memo.DoneOf(h.Seen.Told[j.ID])
	least := cmp.Or(min(j.NodeCount, j.CPUs), j.NodeCount, 1) // squeue shows the most of a range, and the fewest CPUs
	for _, r := range h.Live {
		if done.Deed == memo.Again && r.Request.Created.Before(done.At) || r.Group.Stamp.Job != j.ID || r.Group.Stamp.Shared() || len(r.Request.Instances) < least {
			continue
		}
		names := slices.Sorted(slices.Values(r.Request.Instances))
		set := h.Config.FlexSetOf(names[0])
		fits := set != nil && slices.Contains(h.places(j), set) && misfit(j, names) == ""
		for _, name := range names {
			m := h.Node(name)
			fits = fits && m != nil && m.Set == set && j.MayFit(*m.Node) && m.IsVacant() && len(h.Named(name).Requests) == 1 && !h.isWanted(name)
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
	switch {
	case len(without(j.Needs, nodes)) > 0 && len(without(nodes, j.Needs)) > 0:
		return fmt.Sprintf("its job asks for %s now", slurm.Fold(j.Needs))
	case len(without(nodes, j.Excludes)) < len(nodes):
		return fmt.Sprintf("its job excludes %s now", slurm.Fold(j.Excludes))
	}
	return ""
}

// leaveUnplanned records why a job gets no door that Slurm has not planned, or not on nodes of ours.
func (h *handout) leaveUnplanned(j *slurm.Job, why string) {
	places := h.places(j)
	if len(places) == 0 {
		return
	}
	if d := h.changedDoor(j.Address()); d != nil {
		why = fmt.Sprintf("what it requests was changed, and Slurm has not planned it since: its request is kept until %s", d.Start.UTC().Format(time.RFC3339))
	}
	if j.LacksNodes() || j.MayBeLimited() {
		why = cmp.Or(h.limits.obstacle(j, places[0]), why)
	}
	h.holdBack(j, places[0], why)
	h.keepFor(j)
}

// obstacleAt returns why a planned job gets no door there now; empty if it may.
func (h *handout) obstacleAt(j *slurm.Job, p plan) string {
	set, places, crowded := p.set, h.places(j), h.crowdedSince(j)
	switch {
	case isClosed(h.Scene, j, set):
		return closedPartition
	case h.isDear(places, set, h.Seen.Now.Sub(crowded)):
		h.Crowded[j.ID] = crowded
		return fmt.Sprintf("no cheaper nodeset has free nodes that are certain to fit it, and on_demand_after keeps it from nodeset %s until %s",
			set.Name, crowded.Add(h.Config.Options.OnDemandAfter).UTC().Format(time.RFC3339))
	}
	return cmp.Or(h.keptFrom(j, p), h.limits.obstacle(j, set))
}

// isDear reports whether on_demand_after still keeps a job from the nodeset, after that time: it is on
// demand, and other nodesets of the job are not.
func (h *handout) isDear(places []*config.NodeSet, set *config.NodeSet, waited time.Duration) bool {
	cheaper := slices.ContainsFunc(places, func(set *config.NodeSet) bool { return set.Flex.Capacity != config.OnDemand })
	return cheaper && set.Flex.Capacity == config.OnDemand && waited < h.Config.Options.OnDemandAfter
}

// elsewhere returns nodes for a job that gets no door where Slurm has planned it, in another one of sets
// where it is certain to fit, or beside the nodes that are kept for a more important job; otherwise its plan.
func (h *handout) elsewhere(j *slurm.Job, p plan, sets map[*config.NodeSet]bool) plan {
	for _, set := range h.places(j) {
		if !sets[set] || set == p.set && h.keptFrom(j, p) == "" || !h.surelyTakes(j, set) {
			continue
		}
		planned := slices.DeleteFunc(slices.Clone(j.Planned), func(name string) bool {
			m := h.Node(name)
			return m == nil || m.Set != set || !h.isPlannable(m, j) || h.isLater(j) && !slices.Contains(h.free[set], name)
		})
		names := h.unkept(j, set, h.fitting(set, j, planned))
		if len(names) < j.NodeCount {
			continue
		}
		if other := (plan{set, slices.Sorted(slices.Values(names[:j.NodeCount]))}); h.obstacleAt(j, other) == "" {
			return other
		}
	}
	return p
}

// countLater counts a planned job that gets a door in a later pass.
func (h *handout) countLater(j *slurm.Job, has map[string]bool) {
	if p, _ := h.planOf(j); p.set != nil && h.mayHaveDoor(j, 0) && !has[j.Address()] && h.limits.obstacle(j, p.set) == "" {
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
