package plan_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"slurmflex/flex/plan"
	"slurmflex/flex/plan/memo"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
	"slurmflex/slurm"
)

// drawTorn makes a gang of nodeset a3 that has lost machines, at some point of its salvage.
func (w *world) drawTorn(t *rapid.T) {
	set := w.cfg.NodeSets[0]
	set.Flex.UseJobDuration, set.Flex.Salvage = false, true
	set.Flex.SalvageTimeout = pick(t, "salvage_timeout", 10*time.Minute, time.Hour)
	free := rapid.Permutation(w.nodesOf(set)).Draw(t, "nodes")
	size := 2 + upTo(t, "size - 2", 2)
	gang, others := free[:size], free[size:]
	lost := 1 + upTo(t, "lost - 1", size-2)
	const id = 90
	job := slurm.Job{
		ID: id, ArrayID: id, User: "ada", Partition: "train", NodeCount: size, Priority: uint64(upTo(t, "priority", 1)),
		State: pick(t, "state", slurm.JobRunning, slurm.JobRunning, slurm.JobPending, slurm.JobPending, slurm.JobCompleting),
		Limit: slurm.ParseLimit(pick(t, "limit", "15:00", "2:00:00")), Start: noon.Add(-20 * time.Minute),
	}
	name := fmt.Sprintf("alpha-a3-job-%d", id)
	asked := pick(t, "asked", 3*time.Minute, time.Hour) // a list of Compute may lag behind by ten minutes
	counted := upTo(t, "lost ones that the group counts still", lost)
	g := mig.Group{
		Name: name, Region: america, Created: noon.Add(-time.Hour), TargetSize: size - lost + counted,
		Stamp:    mig.Stamp{Version: 1, Cluster: cluster, NodeSet: set.Name, Job: id},
		Requests: []mig.Request{{Name: "a1", State: mig.Succeeded, Instances: gang, Duration: mig.MaxDuration, Created: noon.Add(-asked)}},
	}
	if counted > 0 && upTo(t, "silent", 3) > 0 {
		var members []mig.Member
		for i, node := range slices.Concat(gang[:counted], gang[lost:]) {
			members = append(members, mig.Member{Name: node, Action: "NONE", Status: map[bool]string{false: "RUNNING"}[i < counted]})
		}
		w.Members[g.ID()] = scene.Members{All: members}
	}
	w.groups[america+"/"+name] = g
	left := pick(t, "left", 20*time.Minute, 9*time.Hour)
	for i, node := range gang {
		state := "IDLE+CLOUD"
		if job.State == slurm.JobRunning {
			state = "ALLOCATED+CLOUD"
		}
		if i < lost {
			state = map[bool]string{true: "ALLOCATED+CLOUD", false: "DOWN+CLOUD"}[job.State == slurm.JobRunning] + pick(t, "lost", "+NOT_RESPONDING", "")
			if upTo(t, "missed", 3) > 0 {
				w.Missed[node] = true
			}
		} else {
			w.instances[america+"-a/"+node] = mig.Instance{
				Name: node, Zone: america + "-a", Region: america, Group: name, Status: "RUNNING", Model: mig.FlexStart,
				Created: noon.Add(-50 * time.Minute), Terminates: noon.Add(left),
			}
		}
		w.nodes[node] = slurm.Node{Name: node, State: slurm.ParseState(state), LastBusyTime: noon.Add(-10 * time.Second)}
	}
	for _, node := range others {
		w.nodes[node] = slurm.Node{Name: node, State: slurm.ParseState("IDLE+CLOUD+POWERED_DOWN")}
	}
	if job.State == slurm.JobRunning {
		job.Nodes = gang
	}
	if rapid.Bool().Draw(t, "held") {
		begun := noon.Add(-pick(t, "since", 5*time.Second, 9*time.Minute, 11*time.Minute))
		for _, node := range gang[lost:] {
			n := w.nodes[node]
			n.LastBusyTime = begun
			w.nodes[node] = n
		}
		r := slurm.Reservation{
			Name: memo.SalvageReservation(cluster, id), Start: begun, End: begun.Add(set.Flex.SalvageTimeout + 5*time.Minute),
			Nodes: slices.Concat(gang[lost:], others[:min(lost, len(others))]),
		}
		w.Reservations = append(w.Reservations, r)
		job.Reservation = pick(t, "uses it", r.Name, r.Name, "")
	}
	if job.State == slurm.JobCompleting {
		job.Nodes = gang[lost:]
	}
	w.Requeues[id] = upTo(t, "requeues", 4) > 0
	if upTo(t, "gone", 4) > 0 {
		w.jobs[id] = job
	} else if job.State == slurm.JobRunning {
		w.jobs[id] = job
	}
}

// The rules hold also in worlds made for salvage.
func TestEveryPlanForGangsThatLoseMachines(t *testing.T) {
	salvaged := 0
	rapid.Check(t, func(t *rapid.T) {
		w := emptyWorld(drawConfig(t))
		w.drawTorn(t)
		if slices.ContainsFunc(breaksNoRule(t, w).Actions, does[plan.SalvageJob]) {
			salvaged++
		}
	})
	if salvaged == 0 {
		t.Error("no gang was salvaged in any world")
	}
}

// salvagesOnlyLosses: a job is taken off nodes only if it would be requeued, and neither
// Compute has their machines nor Slurm an answer from them; what is held for it has
// nobody else.
func salvagesOnlyLosses(s *sight, p plan.Plan) (wrong []string) {
	for _, a := range p.Actions {
		v, ok := a.(plan.SalvageJob)
		if !ok {
			continue
		}
		at := slices.IndexFunc(s.snap.Jobs, func(j slurm.Job) bool { return j.ID == v.Job })
		isLost := func(name string) bool {
			return s.snap.Missed[name] && !slices.ContainsFunc(s.instances[name], func(in mig.Instance) bool { return !in.Broken() })
		}
		others := func(name string) bool {
			return slices.ContainsFunc(s.jobs[name], func(j slurm.Job) bool { return j.ID != v.Job && holdsNodes(j.State) })
		}
		if j := s.snap.Jobs[at]; !allOf(v.Lost, isLost) || slices.ContainsFunc(v.Nodes, others) ||
			len(v.Lost) > 0 && (j.State != slurm.JobRunning || !s.snap.Requeues[j.ID]) || len(v.Lost) == 0 && j.State != slurm.JobPending {
			wrong = append(wrong, fmt.Sprintf("%s: %+v", a, j))
		}
	}
	return wrong
}

// sparesWhatIsHeld: no machine that is held for a job which can start there goes before
// salvage_timeout, and none is held for a job that is gone.
func sparesWhatIsHeld(s *sight, p plan.Plan) (wrong []string) {
	for _, r := range s.snap.Reservations {
		h := memo.ParseHold(cluster, r.Name)
		id := h.Job
		if h.Kind != memo.SalvageHold || len(s.snap.Unread) > 0 || len(s.snap.Unseen) > 0 || s.snap.Skew != 0 {
			continue
		}
		at := slices.IndexFunc(s.snap.Jobs, func(j slurm.Job) bool { return j.ID == id })
		if at < 0 {
			if !slices.ContainsFunc(p.Actions, func(a plan.Action) bool { d, ok := a.(plan.DeleteReservation); return ok && d.Name == r.Name }) {
				wrong = append(wrong, r.Name+" stays, and its job is gone")
			}
			continue
		}
		j := s.snap.Jobs[at]
		machines := slices.DeleteFunc(slices.Clone(r.Nodes), func(name string) bool { return len(s.instances[name]) == 0 })
		if len(machines) == 0 || j.State != slurm.JobPending || j.Priority == 0 || j.Reservation != "" && j.Reservation != r.Name ||
			!allOf(machines, func(name string) bool {
				set, _, known := s.cfg.Find(name)
				return known && set.Flex.Salvage && s.snap.Now.Sub(r.Start) < set.Flex.SalvageTimeout && s.nodes[name].State.String() == "IDLE+CLOUD" &&
					s.hasRunning(name) && s.instances[name][0].Terminates.After(s.snap.Now.Add(j.Limit.Duration+2*time.Minute))
			}) {
			continue
		}
		for _, a := range p.Actions {
			change, ok := a.(plan.SetNodes)
			if (ok && strings.HasPrefix(change.State, "power_down") || does[plan.DeleteInstances](a) || does[plan.ReturnNodes](a)) &&
				slices.ContainsFunc(a.About().Nodes, func(n string) bool { return slices.Contains(machines, n) }) {
				wrong = append(wrong, fmt.Sprintf("held for job %d: %s, because %s", id, a, a.Because()))
			}
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
