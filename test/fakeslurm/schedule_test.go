package fakeslurm

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slurmflex/slurm"
)

func TestJobWaitsWhileItsNodesAreUnavailable(t *testing.T) {
	for _, state := range []string{"down", "drain", "power_down_force"} {
		w := newWorld(t, "24.11")
		require.NoError(t, w.refused("a0", state, "an admin's"))
		w.pass(time.Second)
		id := w.submit(train("a0"))
		w.pass(time.Second)
		require.Equal(t, "ReqNodeNotAvail, UnavailableNodes:a0", w.queued(id).Reason, state)
		other := w.submit(train("a1"))
		w.pass(time.Second)
		require.Equal(t, slurm.JobConfiguring, w.JobState(other), "it does not block other jobs")
	}
}

func TestIdleIsRefusedForANodeWithAJob(t *testing.T) {
	w := newWorld(t, "24.11")
	id := w.submit(train("a1"))
	w.pass(time.Second)
	require.ErrorContains(t, w.refused("a[0-1]", "idle", ""), "Invalid node state specified")
	require.Equal(t, slurm.JobConfiguring, w.JobState(id))
}

func TestMarkedNodeTakesNoJobUnlessItIsPoweringUp(t *testing.T) {
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
