package plan_test

import (
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
	"slurmflex/slurm"
	"slurmflex/test/scenetest"
)

// TestPendingJobIsPlannedForLikeOneWithNodes draws worlds where jobs wait for powered-down nodes.
// It compares each with a world where the same jobs wait pending behind doors over the same nodes.
// The plans must do the same in Compute.
func TestPendingJobIsPlannedForLikeOneWithNodes(t *testing.T) {
	t.Parallel()
	twins := 0
	for range 20 { // 100 worlds each; -rapid.checks=500 draws 10,000
		rapid.Check(t, func(t *rapid.T) {
			w := drawWorld(t)
			for _, set := range w.flexSets() { // these mean something else for a job that is CONFIGURING
				set.Flex.KeepIdle, set.Flex.GangTimeout, set.Flex.Salvage, set.Flex.MaxAttempts = 0, 0, false, 1000
			}
			waiting := w.awaitMachines()
			configuring := inCompute(w.snapshot(), w)
			if w.waitPending(waiting); len(waiting) == 0 {
				return
			}
			twins++
			if pending := inCompute(w.snapshot(), w); !slices.Equal(configuring, pending) {
				t.Fatalf("configuring: %s\n    pending: %s\n%+v\n%+v", strings.Join(configuring, "\n"), strings.Join(pending, "\n"), w.Reservations, plan.Compute(scene.Of(w.cfg, w.snapshot())))
			}
		})
	}
	if twins < 500 {
		t.Fatalf("only %d worlds had a job that waits for its nodes", twins)
	}
}

// inCompute lists a plan's actions in Compute.
func inCompute(snap scene.Snapshot, w *world) (done []string) {
	for _, a := range plan.Compute(scene.Of(w.cfg, snap)).Actions {
		switch a.(type) {
		case action.CreateGroup, action.CreateRequest, action.CancelRequest, action.DeleteRequest, action.DeleteInstances, action.DeleteGroup,
			action.BulkInsert, action.DeleteVMs, action.CreatePolicy, action.DeletePolicy:
			done = append(done, action.About(a).Text)
		}
	}
	slices.Sort(done)
	return done
}

// awaitMachines makes the jobs that hold flex nodes of their own wait until these are powered up. All
// nodes of a job are in its partition.
func (w *world) awaitMachines() (waiting []slurm.Job) {
	held := map[string]int{}
	for _, j := range w.jobs {
		for _, name := range j.Nodes {
			held[name]++
		}
	}
	for _, j := range inOrder(w.jobs) {
		if len(j.Nodes) == 0 || j.HetID != 0 || j.IsTasks() || slices.ContainsFunc(j.Nodes, func(name string) bool {
			set, index, known := w.cfg.Find(name)
			return held[name] > 1 || !known || set.Flex == nil || set.IsStatic(index)
		}) {
			continue
		}
		j.State, j.Priority, j.Partition = slurm.JobConfiguring, max(j.Priority, 1), w.partitionOf(j.Nodes[0])
		if j.Start.IsZero() {
			j.Start = noon.Add(-10 * time.Minute)
		}
		for _, name := range j.Nodes {
			w.nodes[name] = slurm.Node{Name: name, State: slurm.ParseState("ALLOCATED+CLOUD+POWERED_DOWN"), Extra: w.nodes[name].Extra}
		}
		w.jobs[j.ID], w.Records[j.ID] = j, scenetest.Requeued
		waiting = append(waiting, j)
	}
	return waiting
}

// partitionOf returns the name of a partition that has the node.
func (w *world) partitionOf(node string) string {
	set := w.cfg.FlexSetOf(node).Name
	at := slices.IndexFunc(w.cfg.Partitions, func(p config.Partition) bool { return slices.Contains(p.NodeSets, set) })
	return w.cfg.Partitions[at].Name
}

// waitPending makes these jobs wait pending behind doors over their nodes.
func (w *world) waitPending(jobs []slurm.Job) {
	for _, j := range jobs {
		door := memo.DoorReservation(cluster, j.Address(), j.Start)
		w.Reservations = append(w.Reservations, slurm.Reservation{Name: door, Start: noon.Add(14 * time.Minute), End: noon.Add(365 * 24 * time.Hour), Nodes: j.Nodes})
		for _, name := range j.Nodes {
			n := w.nodes[name]
			n.State = slurm.ParseState("IDLE+CLOUD+POWERED_DOWN")
			w.nodes[name] = n
		}
		j.State, j.NodeCount, j.Nodes, j.Start, j.Reservation, j.Reason = slurm.JobPending, len(j.Nodes), nil, time.Time{}, door, "Reservation"
		w.jobs[j.ID] = j
	}
}
