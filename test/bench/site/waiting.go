package site

import (
	"slices"
	"time"

	"slurmflex/config"
	"slurmflex/flex/plan"
	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
	"slurmflex/test/scenetest"
)

// Waiting returns a cluster in which the given number of jobs wait PENDING for capacity, each for
// that many nodes. Each has a door and, as far as places allow, an ACCEPTED request. All other nodes
// are under the cover.
func Waiting(cfg *config.Config, now time.Time, jobs, nodes int) scene.Snapshot {
	b := newBuilder(cfg, now.Truncate(time.Second)) // as precise as Slurm's times
	b.snap.Promises, b.snap.SuspendTime, b.snap.BackfillWindow = true, 5*time.Minute, 24*time.Hour
	b.snap.Partitions = []slurm.Partition{{Name: "train", Exclusive: true, Up: true, Begins: true}}
	for _, n := range b.snap.Nodes {
		b.snap.Partitions[0].Nodes = append(b.snap.Partitions[0].Nodes, n.Name)
	}
	for range jobs {
		b.jobs++
		b.snap.Jobs = append(b.snap.Jobs, slurm.Job{
			ID: b.jobs, ArrayID: b.jobs, Partition: "train", State: slurm.JobPending, NodeCount: nodes,
			Priority: 100, Limit: slurm.Limit{Kind: slurm.LimitSet, Duration: Limit}, User: "ada", Reason: "Resources",
		})
	}
	b.snap.Told = map[uint32]string{}
	w := scenetest.World{Config: cfg, Snap: b.snap}
	isNoComment := func(a action.Action) bool {
		_, comments := a.(action.CommentJob)
		return !comments
	}
	for p := plan.Compute(w.Scene()); slices.ContainsFunc(p.Actions, isNoComment); p = plan.Compute(w.Scene()) {
		w.Do(p.Actions)
	}
	return w.Snap
}
