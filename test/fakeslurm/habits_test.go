package fakeslurm

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slurmflex/slurm"
)

// doing gives the releases in which a cluster does something.
func doing(t *testing.T, accounting bool, does func(w *world) bool) []string {
	t.Helper()
	var which []string
	for _, version := range Releases() {
		if does(newWorld(t, version, func(o *Options) { o.Accounting = accounting })) {
			which = append(which, version)
		}
	}
	return which
}

// A10: the model has the habits of each release, with a slurmdbd and without.
func TestEachReleaseHasItsHabits(t *testing.T) {
	forgets := func(w *world) bool {
		require.NoError(t, w.refused("a0", "drain", "an admin's"))
		w.update("a0", "resume")
		return w.node("a0").Reason == ""
	}
	t.Run("a reason ends with the return to service in the oldest and the newest", func(t *testing.T) {
		require.Equal(t, []string{"22.05", "26.05"}, doing(t, false, forgets))
	})
	t.Run("with a slurmdbd it does so in all", func(t *testing.T) {
		require.Equal(t, Releases(), doing(t, true, forgets))
	})
	remembers := func(w *world) bool {
		require.NoError(t, w.refused("a0", "down", "broken"))
		w.update("a0", "power_up")
		w.pass(2 * time.Second)
		return w.node("a0").Reason == "broken"
	}
	t.Run("a node that is down loses its reason when it is powered up in the oldest alone", func(t *testing.T) {
		require.Equal(t, Releases()[1:], doing(t, false, remembers))
		require.Equal(t, Releases()[1:], doing(t, true, remembers))
	})
	t.Run("from 26.05 on nobody waits for the slurmd of a node that is powered down", func(t *testing.T) {
		for _, state := range []string{"undrain", "resume"} {
			require.Equal(t, []string{"26.05"}, doing(t, false, func(w *world) bool {
				require.NoError(t, w.refused("a0", "down", "broken"))
				w.update("a0", state)
				return !w.node("a0").State.Has(slurm.NotResponding)
			}), state)
		}
	})
	t.Run("a job of more nodes than there are waits in all but 24.11 and 25.05", func(t *testing.T) {
		require.Equal(t, []string{"22.05", "23.02", "23.11", "24.05", "25.11", "26.05"}, doing(t, false, func(w *world) bool {
			_, err := w.Submit(JobSpec{Partition: "train", Nodes: 5})
			return err == nil
		}))
	})
	t.Run("before 24.11 a job that is requeued while it is configuring has its nodes again at once", func(t *testing.T) {
		require.Equal(t, []string{"22.05", "23.02", "23.11", "24.05"}, doing(t, false, func(w *world) bool {
			id := w.submit(train("a0"))
			w.pass(2 * time.Second)
			require.NoError(t, w.Requeue(id))
			w.pass(2 * time.Second)
			return w.JobState(id) == slurm.JobConfiguring
		}))
	})
	t.Run("before 24.11 one that is held by that goes on to show its nodes", func(t *testing.T) {
		require.Equal(t, []string{"22.05", "23.02", "23.11", "24.05"}, doing(t, false, func(w *world) bool {
			id := w.submit(train("a0"))
			w.pass(2 * time.Second)
			require.NoError(t, w.RequeueHold(id))
			return len(w.queued(id).Nodes) > 0
		}))
	})
	t.Run("before 24.05 nodes have been busy when slurmctld starts", func(t *testing.T) {
		require.Equal(t, []string{"22.05", "23.02", "23.11"}, doing(t, false, func(w *world) bool {
			w.powered("b0")
			w.pass(10 * time.Second)
			w.Restart()
			return w.node("b0").LastBusyTime.Equal(w.now)
		}))
	})
	t.Run("before 23.11 each job has one less priority than the one before", func(t *testing.T) {
		require.Equal(t, []string{"22.05", "23.02"}, doing(t, false, func(w *world) bool {
			first := w.queued(w.submit(train()))
			return first.Priority > w.queued(w.submit(train())).Priority
		}))
	})
}
