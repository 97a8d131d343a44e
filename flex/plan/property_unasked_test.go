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
	"slurmflex/flex/plan/demand"
	"slurmflex/flex/plan/memo"
	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
	"slurmflex/test/scenetest"
)

// TestEachPendingJobIsServedOrHasAReason draws worlds with a cover, where jobs wait pending for
// nodes only. Each job gets a door, or the plan states why not.
func TestEachPendingJobIsServedOrHasAReason(t *testing.T) {
	asked, told := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		w.Promises, w.cfg.Options.Waiting = true, config.Pending
		w.cfg.Partitions, w.Partitions = nil, nil
		for _, set := range w.flexSets() {
			set.Flex.Salvage = false
			w.cfg.Partitions = append(w.cfg.Partitions, config.Partition{Name: set.Name, NodeSets: []string{set.Name}, Exclusive: true})
		}
		slices.SortFunc(w.cfg.Partitions, func(a, b config.Partition) int { return strings.Compare(a.Name, b.Name) })
		covered := w.cover()
		var jobs []slurm.Job
		w.Late = map[uint32]scene.Late{}
		for id := uint32(900); id < 904; id++ {
			j := slurm.Job{
				ID: id, ArrayID: id, State: slurm.JobPending, Priority: 1 + uint64(id), User: "ann", NodeCount: 1 + upTo(t, "nodes - 1", 3),
				Partition: w.cfg.Partitions[upTo(t, "partition", len(w.cfg.Partitions)-1)].Name,
				Reason:    pick(t, "reason", "Priority", "Resources", "ReqNodeNotAvail, May be reserved for other job"),
			}
			switch pick(t, "pinned", "no", "no", "needs", "excludes") {
			case "needs":
				j.Needs = pick(t, "node", w.nodeNames()...)
			case "excludes":
				j.Excludes = pick(t, "node", w.nodeNames()...)
			}
			w.jobs[id], jobs = j, append(jobs, j)
			rest := time.Duration(upTo(t, "late for", 1)) * time.Minute
			switch pick(t, "late", "no", "no", "late", "unknown") {
			case "late":
				w.Late[id] = scene.Late{Until: noon.Add(rest), Reason: "Resources"}
			case "unknown":
				w.Late[id] = scene.Late{Until: noon.Add(rest), Unknown: true}
			}
		}
		for _, set := range w.flexSets() {
			p := slurm.Partition{Name: set.Name, Exclusive: true, Up: true, Begins: true}
			for name := range w.nodes {
				if w.cfg.FlexSetOf(name) == set {
					p.Nodes = append(p.Nodes, name)
				}
			}
			slices.Sort(p.Nodes)
			w.Partitions = append(w.Partitions, p)
		}
		snap := w.snapshot()
		scenetest.PlanJobs(cluster, &snap)
		p := plan.Compute(scene.Of(w.cfg, snap))
		if wrong := broken(sightOf(w.cfg, snap), p); len(wrong) > 0 {
			t.Fatal(strings.Join(wrong, "\n"))
		}
		for _, j := range jobs {
			if !covered[j.Partition] {
				continue // Slurm allocates its nodes
			}
			has := slices.ContainsFunc(p.Actions, func(a action.Action) bool {
				use, is := a.(action.UseReservation)
				return is && use.Job == j.ID
			})
			i := slices.IndexFunc(p.Held, func(w demand.Wait) bool { return w.Job == j.ID })
			switch {
			case has:
				asked++
			case i >= 0:
				told++
			default:
				t.Fatalf("%+v: %+v", j, p.Held)
			}
		}
	})
	if asked == 0 || told == 0 {
		t.Fatalf("%d jobs asked for, %d told why not", asked, told)
	}
}

// cover makes the cover that a pass would make, and returns its nodesets.
func (w *world) cover() map[string]bool {
	covered := map[string]bool{}
	for _, a := range plan.Compute(scene.Of(w.cfg, w.snapshot())).Actions {
		made, is := a.(action.CreateReservation)
		if !is || memo.ParseHold(cluster, made.Name).Kind != memo.CoverHold {
			continue
		}
		w.Reservations = append(w.Reservations, slurm.Reservation{Name: made.Name, Nodes: made.Nodes, Start: noon, End: endOf(made.Name)})
		for _, name := range made.Nodes {
			covered[w.cfg.FlexSetOf(name).Name] = true
		}
	}
	return covered
}
