package plan_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"slurmflex/config"
	"slurmflex/flex/plan"
	"slurmflex/flex/plan/memo"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// drawKept makes kept machines of nodeset a3, jobs that wait for others, and moves that
// are under way.
func (w *world) drawKept(t *rapid.T) {
	set := w.cfg.NodeSets[0]
	set.Flex.KeepIdle = 30 * time.Minute
	free := rapid.Permutation(w.nodesOf(set)).Draw(t, "nodes")
	next := func() (name string) {
		name, free = free[0], free[1:]
		delete(w.instances, america+"-a/"+name)
		return name
	}
	const keeper = "alpha-a3-job-90"
	w.groups[america+"/"+keeper] = mig.Group{
		Name: keeper, Region: america, Created: noon.Add(-5 * time.Hour), Stamp: mig.Stamp{Version: 1, Cluster: cluster, NodeSet: set.Name, Job: 90},
	}
	up := func(state string) string {
		name := next()
		w.nodes[name] = slurm.Node{
			Name: name, State: slurm.ParseState(state),
			LastBusyTime: noon.Add(-pick(t, "idle for", 10*time.Second, 3*time.Minute, 29*time.Minute+45*time.Second)),
		}
		w.instances[america+"-a/"+name] = mig.Instance{
			Name: name, Zone: america + "-a", Region: america, Group: keeper, Status: "RUNNING", Model: mig.FlexStart,
			Created: noon.Add(-4 * time.Hour), Terminates: noon.Add(pick(t, "left", 9*time.Minute, 40*time.Minute, 9*time.Hour)),
		}
		return name
	}
	var kept []string
	for range 1 + upTo(t, "kept - 1", 1) {
		kept = append(kept, up(pick(t, "kept state", "IDLE+CLOUD", "IDLE+CLOUD", "IDLE+CLOUD+RESERVED", "IDLE+CLOUD+DRAIN")))
	}
	for range 1 + upTo(t, "jobs - 1", 1) {
		id := w.drawJob(t, nil)
		j := w.jobs[id]
		j.State, j.Partition = pick(t, "state", slurm.JobConfiguring, slurm.JobConfiguring, slurm.JobPending, slurm.JobRunning, slurm.JobCompleting), "train"
		j.Limit, j.Start = slurm.ParseLimit(pick(t, "limit", "15:00", "2:00:00")), noon.Add(-pick(t, "given", time.Minute, 20*time.Minute))
		switch {
		case j.State == slurm.JobPending:
		case rarely(t, "has kept ones"):
			j.Nodes = kept
		default:
			if rapid.Bool().Draw(t, "holds one") {
				j.Nodes = append(j.Nodes, up("ALLOCATED+CLOUD"))
			}
			name := next()
			w.nodes[name] = slurm.Node{Name: name, State: slurm.ParseState("ALLOCATED+CLOUD+POWERING_UP")}
			j.Nodes = append(j.Nodes, name)
			g := mig.Group{
				Name: fmt.Sprintf("alpha-a3-job-%d", id), Region: america, Created: noon.Add(-time.Hour),
				Stamp: mig.Stamp{Version: 1, Cluster: cluster, NodeSet: set.Name, Job: id},
			}
			if rapid.Bool().Draw(t, "asked for") {
				g.Requests = []mig.Request{{
					Name: "a1", State: pick(t, "request", mig.Accepted, mig.Accepted, mig.Creating), Instances: []string{name},
					Duration: mig.MaxDuration, Created: noon.Add(-15 * time.Minute),
				}}
			}
			w.groups[america+"/"+g.Name] = g
		}
		if rapid.Bool().Draw(t, "moves") {
			begun := noon.Add(-pick(t, "since", 5*time.Second, 150*time.Second))
			r := slurm.Reservation{Name: memo.MoveReservation(cluster, id), Nodes: kept, Start: begun, End: begun.Add(slurm.MoveLimit)}
			if !slices.ContainsFunc(w.Reservations, func(other slurm.Reservation) bool { return strings.Contains(other.Name, ".job-") }) {
				w.Reservations = append(w.Reservations, r)
				j.Reservation = pick(t, "uses it", "", r.Name)
			}
		}
		w.jobs[id] = j
	}
}

// The rules hold also in worlds made for moves.
func TestEveryPlanForKeptMachines(t *testing.T) {
	moved := 0
	rapid.Check(t, func(t *rapid.T) {
		w := emptyWorld(drawConfig(t))
		w.drawKept(t)
		if rapid.Bool().Draw(t, "an array") {
			w.joinArray(t)
		}
		if slices.ContainsFunc(breaksNoRule(t, w).Actions, does[plan.MoveJob]) {
			moved++
		}
	})
	if moved == 0 {
		t.Error("no job moved in any world")
	}
}

// movesOnlyToKept: a job moves as a whole, from nodes without machines to idle ones, and
// no plan takes these away while they are reserved for it.
func movesOnlyToKept(s *sight, p plan.Plan) (wrong []string) {
	promised := map[string]bool{}
	for _, a := range p.Actions {
		m, ok := a.(plan.MoveJob)
		if !ok {
			continue
		}
		for _, name := range m.To {
			promised[name] = true
		}
		if len(m.From) == 0 {
			continue
		}
		at := slices.IndexFunc(s.snap.Jobs, func(j slurm.Job) bool { return j.ID == m.Job })
		idle := func(name string) bool {
			return s.nodes[name].State.IsIdle() && len(s.jobs[name]) == 0 && len(s.instances[name]) == 1
		}
		bare := func(name string) bool { return !s.hasRunning(name) && !s.isCreated(name) }
		if j := s.snap.Jobs[at]; j.State != slurm.JobConfiguring || !s.snap.Requeues[j.ID] || j.Pinned() || len(m.From) != len(m.To) ||
			len(m.From)+len(m.Held) != len(j.Nodes) || !allOf(m.To, idle) || !allOf(m.From, bare) {
			wrong = append(wrong, fmt.Sprintf("%s: %+v", a, j))
		}
	}
	for _, a := range p.Actions {
		if change, ok := a.(plan.SetNodes); ok && strings.HasPrefix(change.State, "power_down") && slices.ContainsFunc(change.Nodes, func(n string) bool { return promised[n] }) ||
			does[plan.DeleteInstances](a) && slices.ContainsFunc(a.About().Nodes, func(n string) bool { return promised[n] }) {
			wrong = append(wrong, fmt.Sprintf("a job moves there: %s", a))
		}
	}
	return wrong
}

func allOf(names []string, is func(string) bool) bool {
	return !slices.ContainsFunc(names, func(n string) bool { return !is(n) })
}

func (s *sight) hasRunning(name string) bool {
	return slices.ContainsFunc(s.instances[name], func(in mig.Instance) bool { return !in.Leaving() && s.hasGroup(in.Region, in.Group) })
}

// isCreated reports whether a request for the node cannot be withdrawn.
func (s *sight) isCreated(name string) bool {
	return slices.ContainsFunc(s.snap.Groups, func(g mig.Group) bool {
		return slices.ContainsFunc(g.Live(), func(r mig.Request) bool { return r.Names(name) && r.State != mig.Accepted })
	})
}

// leavesNoneIdle: no kept machine is left idle while a job that fits it waits, and could be
// moved to machines that the plan moves nobody to.
func leavesNoneIdle(s *sight, p plan.Plan) (wrong []string) {
	if len(s.snap.Unseen)+len(s.snap.Unread)+len(s.snap.Asking)+len(s.snap.Inserted)+len(s.snap.Hidden(s.snap.Groups)) > 0 {
		return nil
	}
	taken := map[string]bool{}
	for _, a := range p.Actions {
		if m, ok := a.(plan.MoveJob); ok {
			for _, name := range slices.Concat(m.From, m.To, m.Held) {
				taken[name] = true
			}
		}
	}
	for _, j := range s.snap.Jobs {
		lacks := s.lacks(j)
		if len(j.Nodes) == 0 || taken[j.Nodes[0]] {
			continue
		}
		for set, count := range lacks {
			for i := range set.Size() {
				if name := set.NodeName(cluster, i); !taken[name] && s.couldHave(j, name) {
					count--
				}
			}
			if count > 0 {
				lacks = nil
			}
		}
		if len(lacks) > 0 {
			wrong = append(wrong, fmt.Sprintf("job %d waits, and kept machines are idle", j.ID))
		}
	}
	return wrong
}

// lacks is how many nodes of each nodeset a job lacks that may move; nil for others.
func (s *sight) lacks(j slurm.Job) map[*config.NodeSet]int {
	if j.State != slurm.JobConfiguring || j.Limit.Kind != slurm.LimitSet || j.Start.IsZero() || j.HetID != 0 || j.User == "" || j.Pinned() ||
		j.Reservation != "" || !s.snap.Requeues[j.ID] || !s.cfg.Exclusive(j.Partition) ||
		slices.ContainsFunc(s.snap.Reservations, func(r slurm.Reservation) bool { return r.Name == memo.MoveReservation(cluster, j.ID) }) {
		return nil
	}
	lacks := map[*config.NodeSet]int{}
	for _, name := range j.Nodes {
		set, index, known := s.cfg.Find(name)
		n := s.nodes[name]
		if !known || set.Flex == nil || set.Flex.KeepIdle == 0 || set.IsStatic(index) || set.Placement || len(s.jobs[name]) != 1 || s.isCreated(name) {
			return nil
		}
		switch machines := s.instances[name]; {
		case n.State.Power() == slurm.Rising && len(machines) == 0:
			lacks[set]++
		case n.State.String() == "ALLOCATED+CLOUD" && s.lasts(j, name):
		default:
			return nil
		}
	}
	return lacks
}

// lasts reports whether the job would be done well before its one machine or anybody's
// reservation ends that.
func (s *sight) lasts(j slurm.Job, name string) bool {
	end := s.snap.Now.Add(cmp.Or(s.snap.Limits[j.ID].MinTime, j.Limit.Duration) + 2*time.Minute)
	machines := s.instances[name]
	return len(machines) == 1 && s.hasRunning(name) && machines[0].Unread == "" && machines[0].Until().After(end) &&
		!slices.ContainsFunc(s.snap.Reservations, func(r slurm.Reservation) bool { return slices.Contains(r.Nodes, name) && r.Start.Before(end) })
}

// couldHave reports whether the job could move to the node.
func (s *sight) couldHave(j slurm.Job, name string) bool {
	n := s.nodes[name]
	set, _, _ := s.cfg.Find(name)
	return s.isKept(name) && s.lasts(j, name) && !n.LastBusyTime.Before(j.Start) && s.snap.Now.Sub(n.LastBusyTime) < set.Flex.KeepIdle-time.Minute && len(s.jobs[name]) == 0
}
