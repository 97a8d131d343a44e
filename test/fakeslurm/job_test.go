package fakeslurm

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slurmflex/slurm"
)

// het submits a heterogeneous job with one node in each of two partitions.
func (w *world) het() (first, second uint32) {
	w.t.Helper()
	first, err := w.SubmitHet(
		JobSpec{Partition: "train", NodeList: []string{"a0"}, Limit: time.Hour, Run: time.Minute},
		JobSpec{Partition: "open", NodeList: []string{"b0"}, Limit: time.Hour, Run: time.Minute},
	)
	require.NoError(w.t, err)
	w.pass(2 * time.Second)
	return first, first + 1
}

func TestHeterogeneousComponentsStartAndEndTogether(t *testing.T) {
	onEachRelease(t, func(t *testing.T, w *world) {
		first, second := w.het()
		require.Equal(t, []string{"resume a0,b0 for job 1 for job 2"}, w.programs())
		require.Equal(t, []uint32{first, first}, []uint32{w.queued(first).HetID, w.queued(second).HetID})
		require.Equal(t, uint32(1), w.queued(second).HetOffset)
		w.boot("b0")
		w.pass(29 * time.Second)
		require.Equal(t, slurm.JobRunning, w.JobState(second), "its own nodes are up")
		require.Equal(t, slurm.JobConfiguring, w.JobState(first))
		w.boot("a0")
		w.pass(3 * time.Minute)
		w.are(slurm.JobCompleted, first, second)
	})
}

func TestHeterogeneousJobIsRequeuedAsAWhole(t *testing.T) {
	onEachRelease(t, func(t *testing.T, w *world) {
		first, second := w.het()
		w.update("b0", "power_down_force")
		w.are(slurm.JobPending, first, second)
		w.pass(time.Second)
		require.Equal(t, slurm.Idle, w.node("a0").State.Base)
		require.NoError(t, w.Cancel(first))
		require.Equal(t, slurm.JobCancelled, w.JobState(second))
	})
}

func TestHeterogeneousJobIsRequeuedIfAComponentIsLate(t *testing.T) {
	w := newWorld(t, "22.05", func(o *Options) { o.ResumeTimeout = time.Hour })
	first, second := w.het()
	w.boot("a0")
	w.pass(2 * time.Minute)
	w.are(slurm.JobPending, first, second)
}
