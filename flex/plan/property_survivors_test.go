package plan_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
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

// drawLoss draws a job on several nodes of covered nodeset a3 that has lost machines. The snapshot
// may be at any point until the job starts again.
func (w *world) drawLoss(t *rapid.T) {
	set := w.cfg.NodeSets[0]
	w.Promises, w.cfg.Options.Waiting = true, config.Pending
	w.cfg.Partitions = []config.Partition{{Name: "train", NodeSets: []string{set.Name}, Exclusive: true}}
	set.Flex.UseJobDuration, set.Flex.Salvage = false, true
	set.Flex.KeepIdle = pick(t, "keep_idle", 0, 30*time.Minute)
	set.Flex.SalvageTimeout = pick(t, "salvage_timeout", 10*time.Minute, time.Hour)
	free := rapid.Permutation(w.nodesOf(set)).Draw(t, "nodes")
	size := 2 + upTo(t, "size - 2", 2)
	whole, others := free[:size], free[size:]
	lost := 1 + upTo(t, "lost - 1", size-2)
	const id = 90
	job := slurm.Job{
		ID: id, ArrayID: id, User: "ada", Partition: "train", NodeCount: size, Priority: uint64(upTo(t, "priority", 1)),
		State: pick(t, "state", slurm.JobRunning, slurm.JobRunning, slurm.JobPending, slurm.JobPending, slurm.JobCompleting),
		Limit: slurm.ParseLimit(pick(t, "limit", "15:00", "2:00:00")), Start: noon.Add(-20 * time.Minute), Reason: "Priority",
	}
	name := fmt.Sprintf("alpha-a3-job-%d", id)
	asked := pick(t, "asked", 3*time.Minute, time.Hour) // a list of Compute may lag by ten minutes
	counted := upTo(t, "lost ones that the group counts still", lost)
	g := mig.Group{
		Name: name, Region: america, Created: noon.Add(-time.Hour), TargetSize: size - lost + counted,
		Stamp:    mig.Stamp{Version: 1, Cluster: cluster, NodeSet: set.Name, Job: id},
		Requests: []mig.Request{{Name: "a1", State: mig.Succeeded, Instances: whole, Duration: mig.MaxDuration, Created: noon.Add(-asked)}},
	}
	if counted > 0 && upTo(t, "silent", 3) > 0 {
		var members []mig.Member
		for i, node := range slices.Concat(whole[:counted], whole[lost:]) {
			members = append(members, mig.Member{Name: node, Action: "NONE", Status: map[bool]string{false: "RUNNING"}[i < counted]})
		}
		w.Members[g.ID()] = scene.Members{All: members}
	}
	w.groups[america+"/"+name] = g
	left := pick(t, "left", 20*time.Minute, 9*time.Hour)
	for i, node := range whole {
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
	w.Requeues[id] = upTo(t, "requeues", 4) > 0
	switch job.State {
	case slurm.JobRunning:
		job.Nodes = whole
	case slurm.JobCompleting:
		job.Nodes = whole[lost:]
	}
	w.jobs[id] = job
	w.cover()
	if job.State != slurm.JobPending {
		return
	}
	switch pick(t, "next", "door", "door", "none", "cancelled") {
	case "door":
		made := noon.Add(-pick(t, "since", 5*time.Second, 9*time.Minute, 11*time.Minute))
		r := slurm.Reservation{
			Name: memo.DoorReservation(cluster, "90", made), Start: noon.Add(14 * time.Minute), End: noon.Add(365 * 24 * time.Hour),
			Nodes: slices.Concat(whole[lost:], others[:min(lost, len(others))]),
		}
		w.Reservations = append(w.Reservations, r)
		job.Reservation = pick(t, "uses it", r.Name, r.Name, "")
		w.jobs[id] = job
	case "cancelled":
		delete(w.jobs, id)
	}
}

// The rules also hold in worlds drawn for jobs that lose machines.
func TestEveryPlanKeepsRulesForJobsThatLoseMachines(t *testing.T) {
	downs, doors := 0, 0
	for range 5 { // 100 worlds each
		rapid.Check(t, func(t *rapid.T) {
			w := emptyWorld(drawConfig(t))
			w.drawLoss(t)
			for _, a := range breaksNoRule(t, w).Actions {
				switch a := a.(type) {
				case action.SetNodes:
					downs += len(a.Jobs)
				case action.UseReservation:
					doors++
				}
			}
		})
	}
	if downs == 0 || doors == 0 {
		t.Errorf("%d jobs were taken off lost nodes, and %d got doors", downs, doors)
	}
}

// sparesKeptMachines: no machine is deleted that a job that waits pending has kept after a loss,
// behind a door before salvage_timeout, or while the job gets a door.
func sparesKeptMachines(s *sight, p plan.Plan) (wrong []string) {
	if !s.snap.Promises || len(s.snap.Unread) > 0 || len(s.snap.Unseen) > 0 || s.snap.Skew != 0 {
		return nil
	}
	for _, j := range s.snap.Jobs {
		if j.State != slurm.JobPending || j.Priority == 0 {
			continue
		}
		since, machines := noon, s.madeFor(j)
		for _, r := range s.snap.Reservations {
			if r.Name == j.Reservation {
				since = memo.ParseHold(cluster, r.Name).At
			}
		}
		stays := func(name string) bool {
			set, _, known := s.cfg.Find(name)
			return known && set.Flex.Salvage && s.snap.Now.Sub(since) < set.Flex.SalvageTimeout && s.nodes[name].State.String() == "IDLE+CLOUD" &&
				s.hasRunning(name) && s.instances[name][0].Terminates.After(s.snap.Now.Add(j.Limit.Duration+2*time.Minute))
		}
		if len(machines) == 0 || !allOf(machines, stays) {
			continue
		}
		for _, a := range p.Actions {
			change, ok := a.(action.SetNodes)
			if (ok && strings.HasPrefix(change.State, "power_down") || does[action.DeleteInstances](a) || does[action.ReturnNodes](a)) &&
				slices.ContainsFunc(a.About().Nodes, func(n string) bool { return slices.Contains(machines, n) }) {
				wrong = append(wrong, fmt.Sprintf("job %d keeps it: %s, because %s", j.ID, a, a.Because()))
			}
		}
	}
	return wrong
}

// madeFor returns the nodes with machines that were created for a job.
func (s *sight) madeFor(j slurm.Job) (names []string) {
	for name, instances := range s.instances {
		if slices.ContainsFunc(instances, func(in mig.Instance) bool { return s.groups[in.Region+"/"+in.Group].Stamp.Job == j.ID }) {
			names = append(names, name)
		}
	}
	return names
}

func allOf(names []string, is func(string) bool) bool {
	return !slices.ContainsFunc(names, func(n string) bool { return !is(n) })
}

func (s *sight) hasRunning(name string) bool {
	return slices.ContainsFunc(s.instances[name], func(in mig.Instance) bool { return !in.Leaving() && s.hasGroup(in.Region, in.Group) })
}
