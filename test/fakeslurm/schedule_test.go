package fakeslurm

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slurmflex/slurm"
)

func TestTheMoreImportantJobIsFirstAndThenTheOlder(t *testing.T) {
	w := newWorld(t, "24.11")
	all := JobSpec{Partition: "train", Nodes: 4, Limit: time.Hour, Run: time.Hour}
	older, younger := w.submit(all), w.submit(all)
	all.Priority = 100
	urgent := w.submit(all)
	w.pass(time.Second)
	require.Equal(t, slurm.JobConfiguring, w.JobState(urgent))
	require.Equal(t, "Resources", w.queued(older).Reason)
	require.Equal(t, "Priority", w.queued(younger).Reason)
	w.pass(time.Second)
	require.NoError(t, w.SetPriority(younger, 50))
	require.NoError(t, w.Cancel(urgent))
	w.pass(time.Second)
	require.Equal(t, slurm.JobConfiguring, w.JobState(younger))
}

func TestASmallJobPassesALargeOneOnlyIfItDoesNotDelayIt(t *testing.T) {
	w := newWorld(t, "24.11")
	w.submit(train("a0"))
	w.pass(time.Second)
	large := w.submit(JobSpec{Partition: "train", Nodes: 4, Limit: time.Hour})
	long := w.submit(JobSpec{Partition: "train", Limit: 2 * time.Hour})
	short := w.submit(JobSpec{Partition: "train", Limit: 30 * time.Minute})
	w.pass(time.Second)
	require.Equal(t, slurm.JobPending, w.JobState(long))
	require.Equal(t, slurm.JobConfiguring, w.JobState(short))
	require.WithinDuration(t, w.now.Add(time.Hour), w.queued(large).Start, 5*time.Second)
	w.shows("a3", "IDLE+CLOUD+POWERED_DOWN+PLANNED")
}

func TestAJobDoesNotStartWhereItsNodesAreNotToBeHad(t *testing.T) {
	for _, state := range []string{"down", "drain", "power_down_force"} {
		w := newWorld(t, "24.11")
		require.NoError(t, w.refused("a0", state, "an admin's"))
		w.pass(time.Second)
		id := w.submit(train("a0"))
		w.pass(time.Second)
		require.Equal(t, "ReqNodeNotAvail, UnavailableNodes:a0", w.queued(id).Reason, state)
		other := w.submit(train("a1"))
		w.pass(time.Second)
		require.Equal(t, slurm.JobConfiguring, w.JobState(other), "it is in nobody's way")
	}
}

func TestIdleIsRefusedForANodeWithAJob(t *testing.T) {
	w := newWorld(t, "24.11")
	id := w.submit(train("a1"))
	w.pass(time.Second)
	require.ErrorContains(t, w.refused("a[0-1]", "idle", ""), "Invalid node state specified")
	require.Equal(t, slurm.JobConfiguring, w.JobState(id))
}

func TestWhatIsLeftOfANodeMarkedToGoTakesNoJobUnlessItIsPoweringUp(t *testing.T) {
	w := newWorld(t, "24.11")
	w.powered("b0")
	w.submit(open("b0"))
	w.pass(time.Second)
	w.update("b0", "power_down")
	require.NoError(t, w.Cancel(1))
	id := w.submit(open("b0"))
	w.pass(time.Second)
	require.Equal(t, slurm.JobPending, w.JobState(id))
	w.shows("b0", "IDLE+CLOUD+POWERING_DOWN")

	w.update("b1", "power_up")
	w.pass(2 * time.Second)
	w.update("b1", "power_down")
	next := w.submit(open("b1"))
	w.pass(time.Second)
	require.Equal(t, slurm.JobConfiguring, w.JobState(next))
}

func TestColdNodesAreTakenFromTheShortestRunBefore2605(t *testing.T) {
	onEachRelease(t, func(t *testing.T, w *world) {
		require.NoError(t, w.refused("a2", "drain", "an admin's"))
		first, second := w.submit(train()), w.submit(JobSpec{Partition: "train", Nodes: 2, Limit: time.Hour})
		w.pass(time.Second)
		single, pair := "a3", []string{"a0", "a1"}
		if w.o.Version == "26.05" {
			single, pair = "a0", []string{"a1", "a3"}
		}
		require.Equal(t, []string{single}, w.queued(first).Nodes)
		require.Equal(t, pair, w.queued(second).Nodes)
	})
}
