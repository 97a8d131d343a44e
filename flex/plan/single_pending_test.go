package plan_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/flex/plan"
	"slurmflex/flex/plan/memo"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
	"slurmflex/slurm"
	"slurmflex/test/bench/site"
	"slurmflex/test/scenetest"
)

// The doors of 5,000 jobs take 25 passes. The requests of the first must leave places to the last.
func TestFiveThousandPendingJobsNeedAtMost100Requests(t *testing.T) {
	t.Parallel()
	const jobs = 5000
	cfg, err := site.Config(jobs)
	require.NoError(t, err)
	cfg.Options.MaxActiveRequests = 100
	cfg.FlexSets()[0].Flex.ShareRequests = 50
	requests, machines := 0, map[string]bool{}
	for _, g := range site.Waiting(cfg, noon, jobs, 1).Groups {
		requests += len(g.Requests)
		for _, r := range g.Requests {
			for _, name := range r.Instances {
				machines[name] = true
			}
		}
	}
	assert.LessOrEqual(t, requests, 100)
	assert.Len(t, machines, jobs)
}

// oneAway is a cluster where jobs 7, 8 and 9 wait for one machine each. The machines of jobs 7 and 8
// and of a third job are in one request, but the third job has left the queue. Job 9 lacks a door.
func oneAway() waitingPending {
	w := newWaitingPending()
	for _, set := range w.Config.FlexSets() {
		set.Flex.ShareRequests = 4
	}
	w.job().NodeCount = 1
	for id := uint32(8); id <= 9; id++ {
		other := w.another(id)
		other.Reservation, other.Reason = "", "Priority"
	}
	w.door().Nodes = scenetest.Names("alpha-a3-0")
	w.Snap.Jobs[1].Reservation, w.Snap.Jobs[1].Reason = memo.DoorReservation("alpha", "8", noon.Add(-time.Minute)), "Reservation"
	w.reserve(w.Snap.Jobs[1].Reservation, 14*time.Minute+30*time.Second, "alpha-a3-1", "PURGE_COMP=00:05:00")
	of := mig.Sharers(0, "ann")
	of.NodeSet = "a3"
	w.Group(memo.SharedGroup("alpha", "a3", of.Array, of.User, 0), of, mig.Request{
		Name: "a1", State: mig.Accepted, Instances: scenetest.Names("alpha-a3-[0-1,3]"), Duration: 4 * time.Hour, Created: noon.Add(-time.Minute),
	})
	return w
}

// Without the third job, more than half of the request's machines would be unwanted.
func TestRequestIsKeptForTheJobThatTakesItsMachine(t *testing.T) {
	w := oneAway()
	w.Snap.Jobs = append(w.Snap.Jobs[:1], w.Snap.Jobs[2:]...)
	w.Snap.Reservations = w.Snap.Reservations[:2]
	assert.NotContains(t, w.inCompute(), "cancel request", "job 9 takes a machine")
	w.Snap.Jobs = w.Snap.Jobs[:1]
	assert.Contains(t, w.inCompute(), "cancel request")
}

// The machine may be created in the moment when its job leaves: it is offered to the waiting job.
func TestNewMachineOfACancelledJobIsKeptForAWaitingOne(t *testing.T) {
	w := oneAway()
	closed := w.Snap.Reservations[0].Nodes
	w.Snap.Groups[0].Requests[0].State, w.Snap.Groups[0].TargetSize = mig.Succeeded, 3
	for i := range w.Machines("alpha-a3-[0-1,3]", w.Snap.Groups[0].Name) {
		w.Snap.Instances[i].Created = noon.Add(-30 * time.Second)
	}
	assert.NotContains(t, w.inCompute(), "delete instances")
	w.Snap.Promises = false
	assert.NotContains(t, w.inCompute(), "delete instances", "a hook, or gc, beside the daemon")
	w.Snap.Reservations[0].Nodes = scenetest.Names("alpha-a3-[0-2]")
	assert.Contains(t, w.inCompute(), "delete instances alpha-a3-3 of", "no cover: no daemon keeps it")
	w.Snap.Reservations[0].Nodes, w.Snap.Promises = closed, true
	limit := w.Snap.Jobs[2].Limit
	w.Snap.Jobs[2].Limit = slurm.ParseLimit("UNLIMITED")
	assert.Contains(t, w.inCompute(), "delete instances alpha-a3-3 of", "a job without a limit may outlast the lease")
	w.Snap.Jobs[2].Limit = limit
	needs := w.Snap.Jobs[2]
	needs.ID, needs.ArrayID, needs.Priority, needs.NodeCount, needs.Needs = 20, 20, needs.Priority+1, 2, scenetest.Names("alpha-a3-[3-4]")
	w.Snap.Jobs = append(w.Snap.Jobs, needs)
	assert.Contains(t, w.inCompute(), "delete instances alpha-a3-3 of", "a more important job needs the node, and Slurm plans it on nodes without machines")
}

func BenchmarkFiveThousandSingleJobs(b *testing.B) {
	cfg, err := site.Config(5000)
	if err != nil {
		b.Fatal(err)
	}
	cfg.Options.MaxActiveRequests, cfg.FlexSets()[0].Flex.ShareRequests = 100, 50
	snap := site.Waiting(cfg, noon, 5000, 1)
	b.ResetTimer()
	for b.Loop() {
		plan.Compute(scene.Of(cfg, snap))
	}
}
