package plan_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/config"
	"slurmflex/flex/plan"
	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
	"slurmflex/test/scenetest"
)

// planned sets where Slurm has planned job 7 for the horizon.
func (w severalPlaces) planned(nodes string) *slurm.Job {
	j := w.job()
	j.Planned, j.Start = scenetest.Names(nodes), noon.Add(23*time.Hour)
	return j
}

// TestDoorIsOnTheNodesThatSlurmHasPlanned has jobs that list several partitions, or name options that
// choose among the nodes of one.
func TestDoorIsOnTheNodesThatSlurmHasPlanned(t *testing.T) {
	const first = " from 2026-11-21T12:15:00Z\nhave job 7 use reservation FIRST"
	cases[severalPlaces]{
		"J1: BadConstraints is about the last partition": {func(w severalPlaces) {
			w.planned("alpha-us-[0-1]").Reason = "BadConstraints"
		}, "reserve alpha-us-[0-1]" + first},
		"J2: only its second partition has its feature": {func(w severalPlaces) {
			w.planned("alpha-eu-[0-1]").Features = "h100"
		}, "reserve alpha-eu-[0-1]" + first},
		"K3: only its second partition has its GPUs": {func(w severalPlaces) {
			w.planned("alpha-eu-[0-1]").Gres = "gres/gpu:8"
		}, "reserve alpha-eu-[0-1]" + first},
		"J3: it must be below one switch, wherever that is": {func(w severalPlaces) {
			w.planned("alpha-us-[1,3]")
		}, "reserve alpha-us-[1,3]" + first},
		"it requests CPUs, which fewer larger nodes have": {func(w severalPlaces) {
			j := w.planned("alpha-eu-[0-1]")
			j.NodeCount, j.CPUs = 3, 270
			for name, cpus := range map[string]int{"alpha-us-0": 96, "alpha-eu-0": 192, "alpha-eu-1": 192} {
				w.Node(name).CPUs = cpus
			}
		}, "reserve alpha-eu-[0-1]" + first},
		"it is planned in two nodesets, of which the other has enough nodes": {func(w severalPlaces) {
			w.Nodes("alpha-us-0", "DOWN+CLOUD+POWERED_DOWN")
			w.planned("alpha-us-[1-3],alpha-eu-2").NodeCount = 4
		}, "reserve alpha-eu-[0-3]" + first},
		"it accepts more nodes than are free": {func(w severalPlaces) {
			w.planned("alpha-us-[0-1]").NodeCount = 20
		}, "reserve alpha-us-[0-1]" + first},
		"J3: it lists racks": {func(w severalPlaces) {
			w.planned("alpha-us-[2-3]").Features = "[rack1 rack2]"
		}, "reserve alpha-us-[2-3]" + first},
	}.run(t, func() severalPlaces { return severalPlacesOf(4) }, severalPlaces.reservations)
}

func TestJobLargerThanEachOfItsNodesetsIsServedBySeveral(t *testing.T) {
	w := newSeveralPlaces()
	w.Config.Partitions = append([]config.Partition{{Name: "both", Exclusive: true, NodeSets: []string{"us", "eu"}}}, w.Config.Partitions...)
	w.Snap.Partitions = append(w.Snap.Partitions, slurm.Partition{Name: "both", Exclusive: true, Up: true, Begins: true, Nodes: scenetest.Names("alpha-us-[0-1],alpha-eu-[0-1]")})
	j := w.planned("alpha-us-[0-1],alpha-eu-0")
	j.Partition, j.NodeCount = "both", 3
	assert.Contains(t, w.reservations(), "reserve alpha-eu-0,alpha-us-[0-1] from ")
	j.Planned = scenetest.Names("alpha-us-1,alpha-eu-0")
	w.Nodes("alpha-us-0", "ALLOCATED+CLOUD")
	w.Nodes("alpha-eu-1", "ALLOCATED+CLOUD")
	j.NodeCount = 2
	assert.Empty(t, w.reservations(), "one nodeset will be enough")
}

// Slurm shows ReqNodeNotAvail for jobs that wait for a time or another job, and for jobs that can
// never run, until backfill has looked at them.
func TestJobWithoutAPlanGetsNothingBesideFreeNodes(t *testing.T) {
	w := newSeveralPlaces()
	w.job().Reason = "ReqNodeNotAvail, May be reserved for other job"
	p := plan.Compute(scene.Of(w.Config, w.Snap))
	for _, a := range p.Actions {
		assert.NotContains(t, action.About(a).Text, "job 7")
	}
	assert.Equal(t, "Slurm has not planned it yet", p.Held[0].Obstacle)

	w.planned("alpha-us-[0-1]").Start = time.Time{} // the door over these nodes is just deleted
	w.Nodes("alpha-us-[0-1]", "DOWN+CLOUD")
	assert.Equal(t, "Slurm has not planned it yet", plan.Compute(scene.Of(w.Config, w.Snap)).Held[0].Obstacle)
}

// scontrol update numnodes=2 of a job with three nodes makes Slurm accept two or three.
func TestDoorStaysIfItsJobAcceptsFewerNodes(t *testing.T) {
	w := newWaitingPending()
	w.door().Nodes = scenetest.Names("alpha-a3-[0-2]")
	w.job().NodeCount = 2
	assert.Empty(t, w.inSlurm())
}

func TestJobThatSlurmPlansLaterGetsNodesOnlyWhereOthersRest(t *testing.T) {
	w := newSeveralPlaces()
	w.submit(8, "eu").State = slurm.JobSuspended
	w.job().Partition = "us,eu"
	w.planned("alpha-us-[0-1]").Start = noon.Add(25 * time.Hour)
	assert.Empty(t, w.reservations())
	w.Snap.Jobs[1].State = slurm.JobPending
	w.Snap.Late = map[uint32]scene.Late{8: {Until: noon.Add(time.Minute), Reason: "Licenses"}}
	assert.Equal(t, "reserve alpha-eu-[0-1] from 2026-11-21T12:15:00Z\nhave job 7 use reservation FIRST", w.reservations())
}

func TestComponentsGetDifferentNodesWhereOthersRest(t *testing.T) {
	w := newSeveralPlaces()
	w.submit(8, "eu").HetOffset = 1
	w.submit(9, "eu")
	for i := range w.Snap.Jobs[:2] {
		j := &w.Snap.Jobs[i]
		j.HetID, j.Partition, j.NodeCount, j.Planned, j.Start = 7, "eu", 1, []string{"alpha-eu-0"}, noon.Add(25*time.Hour)
	}
	w.Snap.Late = map[uint32]scene.Late{9: {Until: noon.Add(time.Minute), Reason: "Licenses"}}
	assert.Contains(t, w.reservations(), "reserve alpha-eu-0 from")
	assert.Contains(t, w.reservations(), "reserve alpha-eu-1 from")
}
