package plan_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/flex/plan"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
	"slurmflex/slurm"
	"slurmflex/test/scenetest"
)

// newCrowded returns a cluster of four nodes, of which job 6 has two for another hour. Job 7 needs
// all four, and job 8, which is less important, needs one.
func newCrowded() waitingPending {
	w := newWaitingPending()
	w.Snap.Reservations = w.Snap.Reservations[:1]
	j := w.job()
	j.Reservation, j.Reason, j.NodeCount, j.Priority = "", "Resources", 4, 1000
	small := *j
	small.ID, small.ArrayID, small.NodeCount, small.Priority, small.Reason = 8, 8, 1, 1, "Priority"
	w.Snap.Jobs = append(w.Snap.Jobs, small)
	w.Nodes("alpha-a3-[0-1]", scenetest.Busy)
	w.Job(6, "train", "alpha-a3-[0-1]", slurm.JobRunning)
	running := &w.Snap.Jobs[2]
	running.Start, running.Limit = noon.Add(-time.Hour), slurm.Limit{Kind: slurm.LimitSet, Duration: 2 * time.Hour}
	return w
}

func TestFreeNodesAreSetAsideForAnImportantJob(t *testing.T) {
	const served = "have job 8 use"
	held := func(w waitingPending) string { return fmt.Sprintf("%+v", plan.Compute(w.Scene()).Held) }
	small := func(w waitingPending) *slurm.Job { return &w.Snap.Jobs[1] }

	w := newCrowded()
	small(w).Limit.Duration = time.Hour + time.Minute
	assert.NotContains(t, w.inSlurm(), served)
	assert.Contains(t, held(w), "it needs 4 nodes, and 2 of nodeset a3 are free")
	assert.Contains(t, held(w), "it needs 1 nodes, and 0 of nodeset a3 are free; others are kept for job 7, which is more important and needs 4")

	assert.Contains(t, newCrowded().inSlurm(), served, "it ends before job 6")

	w = newCrowded()
	small(w).Limit = slurm.Limit{Kind: slurm.Unlimited}
	assert.NotContains(t, w.inSlurm(), served)

	w = newCrowded()
	w.Snap.Jobs[2].Start = noon.Add(-3 * time.Hour)
	assert.NotContains(t, w.inSlurm(), served, "job 6 should have ended")

	w = newCrowded()
	w.Nodes("alpha-a3-[0-1]", "DOWN+CLOUD+DRAIN")
	assert.Contains(t, w.inSlurm(), served, "job 7 cannot start soon")

	w = newCrowded()
	w.Nodes("alpha-a3-[0-1]", "IDLE+CLOUD+POWERING_DOWN")
	w.Snap.Jobs = w.Snap.Jobs[:2]
	assert.NotContains(t, w.inSlurm(), served, "the nodes will be free soon")

	w = newCrowded()
	w.job().Excludes = "alpha-a3-3"
	assert.Contains(t, w.inSlurm(), served, "job 7 excludes one of the four")

	w = newCrowded()
	small(w).Limit.Duration = 3 * time.Hour
	w.job().NodeCount = 3
	assert.NotContains(t, w.inSlurm(), served)
	w.job().Excludes = "alpha-a3-3"
	assert.Contains(t, w.inSlurm(), served, "on the node that job 7 excludes")

	w = newCrowded()
	small(w).Limit.Duration = 3 * time.Hour
	w.job().NodeCount, w.job().Needs = 2, "alpha-a3-0"
	assert.Contains(t, w.inSlurm(), "reserve alpha-a3-3 ", "job 8 gets the node that job 7 does not need")
	w.Nodes("alpha-a3-0", "DOWN+CLOUD+DRAIN")
	assert.Contains(t, w.inSlurm(), "reserve alpha-a3-2 ", "job 7 requires a node that is out of service")
}

// machines adds machines of a job to nodes, with leases of four hours that started that long ago.
func (w waitingPending) machines(nodes string, job uint32, ago time.Duration) {
	group := fmt.Sprintf("alpha-a3-job-%d", job)
	w.Group(group, mig.Stamp{NodeSet: "a3", Job: job}, mig.Request{
		Name: "a1", State: mig.Succeeded, Instances: scenetest.Names(nodes), Duration: 4 * time.Hour, Created: noon.Add(-ago - time.Minute),
	})
	w.Machines(nodes, group)
	for i := range w.Snap.Instances {
		w.Snap.Instances[i].Created = noon.Add(-ago)
	}
}

func TestNodesAreSetAsideUntilMachinesEnd(t *testing.T) {
	const served = "have job 8 use"

	w := newCrowded()
	w.Snap.Jobs[1].Limit.Duration = 5 * 24 * time.Hour
	w.Snap.Jobs[2].Limit.Duration = 10 * 24 * time.Hour
	w.machines("alpha-a3-[0-1]", 6, 3*time.Hour)
	assert.NotContains(t, w.inSlurm(), served, "the leases of job 6 end in an hour")

	w = newCrowded()
	w.keep()
	w.Snap.Reservations[0].Nodes = scenetest.Names("alpha-a3-2")
	w.Nodes("alpha-a3-3", scenetest.Idle)
	w.machines("alpha-a3-3", 5, 30*time.Minute)
	w.Snap.Jobs[1].Limit.Duration = 4 * time.Hour
	assert.NotContains(t, w.inSlurm(), served, "node 3 is idle for an hour at most")
}

func TestNodesSetAsideAreFreeForMoreImportantJobs(t *testing.T) {
	important := func(w waitingPending, id uint32) *slurm.Job {
		j := *w.job()
		j.ID, j.ArrayID, j.NodeCount, j.Priority, j.Limit.Duration = id, id, 1, 1_000_000, 3*time.Hour
		w.Snap.Jobs[1].Reason = "Dependency"
		w.Snap.Jobs = append(w.Snap.Jobs, j)
		return &w.Snap.Jobs[len(w.Snap.Jobs)-1]
	}
	w := newCrowded()
	important(w, 20)
	w.Snap.Late = map[uint32]scene.Late{20: {In: []string{"a3"}, Reason: "Resources", Until: noon.Add(-time.Minute)}}
	assert.Contains(t, w.inSlurm(), "have job 20 use", "Slurm chooses its nodes")

	w = newCrowded()
	for offset := range uint32(2) {
		part := important(w, 20+offset)
		part.HetID, part.HetOffset = 20, offset
	}
	assert.Contains(t, w.inSlurm(), "have job 20 use", "a heterogeneous job")
}
