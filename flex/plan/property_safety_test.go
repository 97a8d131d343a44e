package plan_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"slurmflex/config"
	"slurmflex/flex/plan"
	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/memo"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// sight is a snapshot indexed by the names that a plan uses.
type sight struct {
	cfg       *config.Config
	snap      scene.Snapshot
	nodes     map[string]slurm.Node
	jobs      map[string][]slurm.Job    // by the nodes in their rows, whatever the job's state
	groups    map[string]mig.Group      // groups of ours, by region/name
	instances map[string][]mig.Instance // by name
	// Live requests of ours, as region/group/request, by the nodes that they name.
	live map[string][]string
}

func sightOf(cfg *config.Config, snap scene.Snapshot) *sight {
	s := &sight{
		cfg: cfg, snap: snap, nodes: map[string]slurm.Node{}, jobs: map[string][]slurm.Job{}, groups: map[string]mig.Group{},
		instances: map[string][]mig.Instance{}, live: map[string][]string{},
	}
	for _, n := range snap.Nodes {
		s.nodes[n.Name] = n
	}
	for _, j := range snap.Jobs {
		for _, n := range j.Nodes {
			s.jobs[n] = append(s.jobs[n], j)
		}
	}
	for _, in := range snap.Instances {
		s.instances[in.Name] = append(s.instances[in.Name], in)
	}
	for _, g := range snap.Groups {
		if g.Stamp.Cluster != cluster {
			continue
		}
		s.groups[g.Region+"/"+g.Name] = g
		for _, r := range g.Live() {
			for _, n := range r.Instances {
				s.live[n] = append(s.live[n], g.Region+"/"+g.Name+"/"+r.Name)
			}
		}
	}
	return s
}

// rule returns what a plan does although no plan may; nil if the plan keeps the rule.
type rule func(s *sight, p plan.Plan) []string

// rules are the rules for every plan.
var rules = map[string]rule{
	"spares what a job runs on":            sparesWhatAJobRunsOn,
	"keeps what keep_idle keeps":           keepsWhatIsKept,
	"changes no node twice":                changesNoNodeTwice,
	"touches only what is ours":            touchesOnlyOurs,
	"leaves unseen regions alone":          leavesUnseenRegions,
	"asks for no node twice":               asksForNoNodeTwice,
	"asks for no node that it returns":     asksForNoNodeThatItGivesBack,
	"makes doors where Slurm has planned":  makesDoorsWhereSlurmHasPlanned,
	"asks for none without a door":         asksForNothingWithoutADoor,
	"asks for nothing that is blocked":     asksForNothingBlocked,
	"keeps to the limits on what is spent": keepsToLimits,
	"keeps to max_active_requests":         keepsToMaxActiveRequests,
	"ends no job but by cancel":            endsNoJobButByCancel,
	"keeps to max_deletions_per_pass":      keepsToMaxDeletions,
	"deletes only what is finished":        deletesOnlyWhatIsFinished,
	"gives names that Compute takes":       givesFitNames,
	"says why":                             saysWhy,
	"shares requests among equals":         sharesAmongEquals,
	"overtakes nobody":                     overtakesNobody,
	"keeps to the limit of a user":         keepsToMaxActivePerUser,
	"frees places for the important":       freesPlacesForTheImportant,
	"frees only what was held long":        freesOnlyWhatWasHeldLong,
	"leaves nothing in silence":            leavesNothingInSilence,
	"leaves nothing paid in silence":       leavesNothingPaidInSilence,
	"ends a lease's jobs in time":          endsJobsInTime,
	"comments first, then acts":            commentsFirst,
	"sets down only what is lost":          setsDownOnlyWhatIsLost,
	"spares what a job keeps after a loss": sparesKeptMachines,
	"ends only what was asked for":         endsOnlyWhatWasAsked,
	"reserves no longer than needed":       reservesNoLongerThanNeeded,
}

// broken returns all rules that a plan breaks, and how.
func broken(s *sight, p plan.Plan) (all []string) {
	for name, r := range rules {
		for _, wrong := range r(s, p) {
			all = append(all, name+": "+wrong)
		}
	}
	return all
}

// breaksNoRule fails the test unless the world's plan keeps all rules. It returns the plan.
func breaksNoRule(t *rapid.T, w *world) plan.Plan {
	t.Helper()
	snap := w.snapshot()
	p := plan.Compute(scene.Of(w.cfg, snap))
	if wrong := broken(sightOf(w.cfg, snap), p); len(wrong) > 0 {
		t.Fatalf("%s\nin this world:\n%s", strings.Join(wrong, "\n"), told(w))
	}
	return p
}

// atWork reports whether a job in that state runs on its nodes: it has nodes and does not wait for
// them. An unknown state counts as running.
func atWork(state slurm.JobState) bool {
	switch state {
	case slurm.JobConfiguring, slurm.JobPowerUpNode:
		return false
	}
	return holdsNodes(state)
}

// holdsNodes reports whether a job in that state still has its nodes.
func holdsNodes(state slurm.JobState) bool {
	switch state {
	case slurm.JobPending, slurm.JobCompleted, slurm.JobCancelled, slurm.JobFailed, slurm.JobTimeout, slurm.JobNodeFail,
		slurm.JobPreempted, slurm.JobBootFail, slurm.JobDeadline, slurm.JobOutOfMemory, slurm.JobRequeued,
		slurm.JobRequeueHold, slurm.JobSpecialExit, slurm.JobRevoked:
		return false
	}
	return true
}

// busy reports whether the node has a job with a state that passes the test.
func (s *sight) busy(node string, test func(slurm.JobState) bool) bool {
	return slices.ContainsFunc(s.jobs[node], func(j slurm.Job) bool { return test(j.State) })
}

// keepsWhatIsKept: no idle machine that keep_idle keeps and that another job could use is powered
// down or deleted for any reason.
func keepsWhatIsKept(s *sight, p plan.Plan) (wrong []string) {
	for _, a := range p.Actions {
		var nodes []string
		switch a := a.(type) {
		case action.DeleteInstances:
			nodes = mig.Names(a.Instances)
		case action.DeleteVMs:
			nodes = mig.Names(a.Instances)
		case action.ReturnNodes:
			nodes = a.Nodes
		case action.SetNodes:
			if strings.HasPrefix(a.State, "power_down") {
				nodes = a.Nodes
			}
		}
		for _, name := range nodes {
			if s.isKept(name) {
				wrong = append(wrong, fmt.Sprintf("%s is kept: %s, because %s", name, a, a.Because()))
			}
		}
	}
	return wrong
}

// isKept reports whether Slurm shows the node as idle and up for less than keep_idle, and its one
// machine runs for another ten minutes.
func (s *sight) isKept(name string) bool {
	set, index, known := s.cfg.Find(name)
	n, machines := s.nodes[name], s.instances[name]
	return known && set.Flex != nil && !set.IsStatic(index) && set.Flex.KeepIdle > 0 &&
		n.State.String() == "IDLE+CLOUD" && !n.LastBusyTime.IsZero() && s.snap.Now.Sub(n.LastBusyTime) < set.Flex.KeepIdle &&
		len(machines) == 1 && machines[0].Status == "RUNNING" && machines[0].Until().Sub(s.snap.Now) > 10*time.Minute
}

// changesNoNodeTwice: no change of nodes depends on another change in the plan, so that a refused
// change does not stop any other.
func changesNoNodeTwice(_ *sight, p plan.Plan) (wrong []string) {
	by := map[string]action.Action{}
	for _, a := range p.Actions {
		var nodes []string
		switch a := a.(type) {
		case action.SetNodes:
			nodes = a.Nodes
		case action.ReturnNodes:
			nodes = a.Nodes
		}
		for _, n := range nodes {
			if by[n] != nil {
				wrong = append(wrong, fmt.Sprintf("%s: %s, and %s", n, by[n], a))
			}
			by[n] = a
		}
	}
	return wrong
}

// sparesWhatAJobRunsOn: no machine of a node that a job has is deleted unless the machine has
// stopped. No node that a job runs on is powered down or returned, or loses the only request for
// its machine.
func sparesWhatAJobRunsOn(s *sight, p plan.Plan) (wrong []string) {
	for _, a := range p.Actions {
		var nodes []string
		switch a := a.(type) {
		case action.DeleteInstances:
			nodes = s.spared(a.Instances)
		case action.DeleteVMs:
			nodes = s.spared(a.Instances)
		case action.SetNodes:
			if a.State != "" && a.State != "power_down" && a.State != "power_up" && a.State != "down" {
				nodes = s.atWork(a.Nodes)
			}
		case action.ReturnNodes:
			nodes = s.atWork(a.Nodes)
		case action.CancelRequest:
			nodes = s.atWork(s.broughtBy(a))
		}
		if len(nodes) > 0 {
			wrong = append(wrong, fmt.Sprintf("a job has %s: %s, because %s", slurm.Fold(nodes), a, a.Because()))
		}
	}
	return wrong
}

// endsNoJobButByCancel: a job loses nodes only if the job's record shows that Slurm requeues it, or
// if it is cancelled.
func endsNoJobButByCancel(s *sight, p plan.Plan) (wrong []string) {
	for _, a := range p.Actions {
		back, ok := a.(action.ReturnNodes)
		if !ok {
			continue
		}
		for _, id := range append([]uint32{back.Job}, back.Others...) {
			requeues, read := s.snap.Requeues[id]
			if !read || !requeues && (back.Then != action.Cancel || id != back.Job) {
				wrong = append(wrong, fmt.Sprintf("job %d: %s", id, a))
			}
		}
	}
	return wrong
}

// endsJobsInTime: a job is signalled or requeued only while it runs on a machine with a lease that
// ends soon, as this pass saw, or in an unseen region an earlier one. It is not requeued if Slurm would lose it.
func endsJobsInTime(s *sight, p plan.Plan) (wrong []string) {
	for _, a := range p.Actions {
		var job uint32
		within := s.cfg.RequeueLead()
		switch a := a.(type) {
		case action.SignalJob:
			job, within = a.Job, 10*time.Minute // the longest lease_end_warning that worlds draw
			if a.Signal != "" && s.snap.Reach[a.Job] != scene.BySignal {
				wrong = append(wrong, fmt.Sprintf("job %d did not ask: %s", a.Job, a))
			}
		case action.RequeueJob:
			if requeues, read := s.snap.Requeues[a.Job]; read && !requeues {
				wrong = append(wrong, fmt.Sprintf("job %d would be lost: %s", a.Job, a))
			}
			job = a.Job
		default:
			continue
		}
		at := slices.IndexFunc(s.snap.Jobs, func(j slurm.Job) bool { return j.ID == job && j.State == slurm.JobRunning })
		if at < 0 || !slices.ContainsFunc(s.snap.Jobs[at].Nodes, func(name string) bool {
			soon := func(end time.Time) bool {
				left := end.Sub(s.snap.Now)
				return left > 0 && left <= within
			}
			set, _, known := s.cfg.Find(name)
			hidden := known && s.snap.Unseen[set.Region] != nil || s.snap.Hidden()[name] != "" // a nodeset may have moved since
			return slices.ContainsFunc(s.instances[name], func(in mig.Instance) bool { return soon(in.Until()) }) || hidden && soon(s.snap.Ends[name])
		}) {
			wrong = append(wrong, fmt.Sprintf("job %d runs on, or not at all: %s, because %s", job, a, a.Because()))
		}
	}
	return wrong
}

// setsDownOnlyWhatIsLost: a node is set DOWN only in a readable region, if two passes have missed
// its machine, and if all instances that this pass shows are ours and not running, or are Spot
// machines that are stopping. For a machine without a group, Slurm must also miss it, or a pass
// must have seen its preemption. The reason states the loss.
func setsDownOnlyWhatIsLost(s *sight, p plan.Plan) (wrong []string) {
	for _, a := range p.Actions {
		set, ok := a.(action.SetNodes)
		if !ok || set.State != "down" {
			continue
		}
		for _, name := range set.Nodes {
			nodeset, _, _ := s.cfg.Find(name)
			runs := slices.ContainsFunc(s.instances[name], func(in mig.Instance) bool {
				_, grouped := s.groups[in.Region+"/"+in.Group]
				stops := in.Model == mig.Spot && in.Status == "STOPPING"
				return !stops && !slices.Contains([]string{"STOPPED", "TERMINATED", "SUSPENDED", "REPAIRING"}, in.Status) || in.Unread != "" ||
					!grouped && (in.Group != "" || in.Stamp.Cluster != cluster)
			})
			hidden := nodeset.Flex.UseBulkInsert && len(s.instances[name]) == 0 && !s.snap.Preempted[name] && !s.nodes[name].State.Has(slurm.NotResponding)
			if hidden || !s.snap.Missed[name] || s.snap.Unseen[nodeset.Region] != nil || s.snap.Hidden()[name] != "" || runs || len(s.live[name]) > 0 ||
				s.nodes[name].State.Power() != slurm.On || !strings.HasPrefix(set.Reason, memo.Lost) {
				wrong = append(wrong, fmt.Sprintf("%s is not lost: %s, because %s", name, a, a.Because()))
			}
		}
	}
	return wrong
}

// atWork returns those of the nodes that a job runs on.
func (s *sight) atWork(nodes []string) []string {
	return slices.DeleteFunc(slices.Clone(nodes), func(n string) bool { return !s.works(n) })
}

// works reports whether a job runs on the node. A completing job shows all nodes that it had,
// including those that another job waits for.
func (s *sight) works(node string) bool {
	waits := s.busy(node, func(state slurm.JobState) bool { return holdsNodes(state) && !atWork(state) })
	return s.busy(node, func(state slurm.JobState) bool { return atWork(state) && (state != slurm.JobCompleting || !waits) })
}

// spared returns the instances that must not be deleted, unless they have stopped: those on a node
// that a job holds. An instance that was created for a job that has left is spared only if a job
// runs on it, because an old machine may not help on a node that is powered up again. An instance
// of a shared group counts as created for the task that was there. An instance created for its node
// counts as created for the jobs that were allocated the node before the instance had booted. An
// instance that had its time to boot before its own job was allocated the node again may go. An
// instance that did not boot in time is not spared if Slurm would end a job without its node.
func (s *sight) spared(instances []mig.Instance) []string {
	return running(slices.DeleteFunc(slices.Clone(instances), func(in mig.Instance) bool {
		stamp, busy := in.Stamp, s.works(in.Name)
		if g, ours := s.groups[in.Region+"/"+in.Group]; ours {
			stamp = g.Stamp
		}
		set, _, _ := s.cfg.Find(in.Name)
		untimed := set == nil || set.Flex == nil || set.Flex.BootTimeout == 0
		mayBoot := func(j slurm.Job) bool {
			return holdsNodes(j.State) && (untimed || j.Start.Before(in.Created.Add(set.Flex.BootTimeout)))
		}
		forAny := !stamp.ForJobs() && (untimed || slices.ContainsFunc(s.jobs[in.Name], mayBoot))
		if forAny || slices.ContainsFunc(s.jobs[in.Name], func(j slurm.Job) bool {
			return holdsNodes(j.State) && (j.ID == stamp.Job && mayBoot(j) || stamp.IsFor(j.ID, j.Array(), j.User) && !in.Created.Before(j.Start) && j.State != slurm.JobCompleting)
		}) {
			busy = s.busy(in.Name, holdsNodes)
		}
		return !busy || s.isReplaced(in, set)
	}))
}

// isReplaced reports whether the instance has had boot_timeout, no job works on its node, and a job
// on the node is one that Slurm would end.
func (s *sight) isReplaced(in mig.Instance, set *config.NodeSet) bool {
	return set != nil && set.Flex != nil && set.Flex.BootTimeout > 0 && !s.snap.Now.Before(in.Created.Add(set.Flex.BootTimeout)) && !s.works(in.Name) &&
		slices.ContainsFunc(s.jobs[in.Name], func(j slurm.Job) bool {
			requeues, read := s.snap.Requeues[j.ID]
			return read && !requeues
		})
}

// running returns the names of the instances that have not stopped for good.
func running(instances []mig.Instance) []string {
	return mig.Names(slices.DeleteFunc(slices.Clone(instances), mig.Instance.Stopped))
}

// broughtBy returns the nodes of a cancelled request, if a job runs on all of them and their
// machines come from that request or not at all. Compute grants a request as a whole, so one node
// without a job makes the whole request wrong.
func (s *sight) broughtBy(a action.CancelRequest) []string {
	requests := s.groups[a.Group.String()].Requests
	at := slices.IndexFunc(requests, func(r mig.Request) bool { return r.Name == a.Request })
	if at < 0 {
		return nil
	}
	stays := func(state slurm.JobState) bool { return atWork(state) && state != slurm.JobCompleting }
	for _, n := range requests[at].Instances {
		if !s.busy(n, stays) || len(s.instances[n]) > 0 || len(s.live[n]) > 1 {
			return nil
		}
	}
	return requests[at].Instances
}

// touchesOnlyOurs: each resource in an action carries our stamp and cluster, or is a node of a flex
// nodeset of ours that Slurm shows, or a job in the queue.
func touchesOnlyOurs(s *sight, p plan.Plan) (wrong []string) {
	made := map[string]bool{}
	for _, a := range p.Actions {
		ours := false
		switch a := a.(type) {
		case action.CreateGroup:
			key := a.Spec.Region + "/" + a.Spec.Name
			made[key] = true
			ours = a.Spec.Stamp.Cluster == cluster && strings.HasPrefix(a.Spec.Name, cluster+"-")
		case action.CreateRequest:
			ours = (s.hasGroup(a.Group.Region, a.Group.Name) || made[a.Group.String()]) && s.haveNodes(a.Spec.Instances)
		case action.BulkInsert:
			ours = a.Spec.Stamp.Cluster == cluster && s.haveNodes(a.Spec.Instances)
		case action.CancelRequest, action.DeleteRequest, action.DeleteGroup:
			_, ours = s.groups[a.Queue()]
		case action.DeleteInstances:
			ours = s.hasGroup(a.Group.Region, a.Group.Name) && !slices.ContainsFunc(a.Instances, func(in mig.Instance) bool {
				return in.GroupID() != a.Group
			})
		case action.DeleteVMs:
			ours = !slices.ContainsFunc(a.Instances, func(in mig.Instance) bool {
				return in.Group != "" || in.Stamp.Cluster != cluster
			})
		case action.SetNodes:
			ours = s.haveNodes(a.Nodes)
		case action.ReturnNodes:
			ours = (s.haveNodes(a.Nodes) || len(a.Nodes) == 0 && a.Then == action.Cancel) && s.hasJob(a.Job)
		case action.CommentJob, action.SignalJob, action.RequeueJob:
			ours = s.hasJob(a.About().Job)
		case action.CreatePolicy:
			ours = a.Spec.Stamp.Cluster == cluster
		case action.DeletePolicy:
			ours = slices.ContainsFunc(s.snap.Policies, func(p mig.Policy) bool {
				return p.Region == a.Group.Region && p.Name == a.Group.Name && p.Stamp.Cluster == cluster
			})
		case action.CreateReservation:
			ours = ourReservation(a.Name) && s.haveNodes(a.Nodes)
		case action.SetReservation:
			ours = ourReservation(a.Name) && (a.Nodes == nil || s.mayReserve(a.Name, a.Nodes))
		case action.DeleteReservation:
			ours = ourReservation(a.Name)
		case action.UseReservation:
			ours = ourReservation(a.Name) && s.hasJob(a.Job)
		}
		if !ours {
			wrong = append(wrong, fmt.Sprintf("not ours to touch: %T: %s", a, a))
		}
	}
	return wrong
}

func (s *sight) hasGroup(region, name string) bool {
	_, ok := s.groups[region+"/"+name]
	return ok
}

// mayReserve reports whether the list contains nodes, and each is a flex node or already has the
// reservation.
func (s *sight) mayReserve(reservation string, nodes []string) bool {
	return len(nodes) > 0 && !slices.ContainsFunc(nodes, func(node string) bool {
		return !s.haveNodes([]string{node}) && !slices.ContainsFunc(s.snap.Reservations, func(r slurm.Reservation) bool {
			return r.Name == reservation && slices.Contains(r.Nodes, node)
		})
	})
}

func (s *sight) hasJob(id uint32) bool {
	return slices.ContainsFunc(s.snap.Jobs, func(j slurm.Job) bool { return j.ID == id })
}

// haveNodes reports whether the list contains names, and all are flex nodes of ours that Slurm
// shows.
func (s *sight) haveNodes(names []string) bool {
	return len(names) > 0 && !slices.ContainsFunc(names, func(name string) bool {
		set, _, known := s.cfg.Find(name)
		_, shown := s.nodes[name]
		return !known || set.Flex == nil || !shown
	})
}

// reservesNoLongerThanNeeded: each reservation of ours ends soon after its purpose does, or Slurm
// deletes it when no job uses it any more.
func reservesNoLongerThanNeeded(s *sight, p plan.Plan) (wrong []string) {
	grace := max(10*time.Minute, 2*s.cfg.Options.Interval+time.Minute)
	last := func(name string) (at time.Time, ends bool) {
		h := memo.ParseHold(cluster, name)
		if at, ends = h.At, h.Kind == memo.LeaseHold; at.Before(s.snap.Now) {
			at = s.snap.Now
		}
		return at.Add(grace), ends
	}
	changed := map[string]bool{}
	for _, a := range p.Actions {
		switch a := a.(type) {
		case action.CreateReservation:
			if at, ends := last(a.Name); a.Lasts <= 0 && a.Purge <= 0 || ends && a.Start.Add(a.Lasts).After(at) || !ends && a.Lasts > 31*time.Minute && memo.ParseHold(cluster, a.Name).Over != memo.ColdCover {
				wrong = append(wrong, a.String())
			}
		case action.SetReservation:
			if at, ends := last(a.Name); ends && a.End.After(at) {
				wrong = append(wrong, a.String())
			}
			changed[a.Name] = !a.End.IsZero()
		case action.DeleteReservation:
			changed[a.Name] = true
		}
	}
	for _, r := range s.snap.Reservations {
		if at, ends := last(r.Name); ends && r.End.After(at) && !changed[r.Name] {
			wrong = append(wrong, fmt.Sprintf("%s lasts until %s", r.Name, r.End))
		}
	}
	return wrong
}

// ourReservation reports whether a reservation is ours: for the end of a lease, or of another kind.
// A cluster name contains no dot.
func ourReservation(name string) bool {
	rest, ours := strings.CutPrefix(name, "slurmflex-"+cluster)
	return ours && (strings.HasPrefix(rest, ".") || strings.HasPrefix(rest, "-") && strings.Trim(rest[1:], "0123456789") == "")
}
