package fakeslurm

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slurmflex/slurm"
)

// Covers A10: the model imitates each release, with and without slurmdbd.
func TestEachReleaseHasItsHabits(t *testing.T) {
	forgets := func(w *world) bool {
		require.NoError(t, w.refused("a0", "drain", "an admin's"))
		w.update("a0", "resume")
		return w.node("a0").Reason == ""
	}
	remembers := func(w *world) bool {
		require.NoError(t, w.refused("a0", "down", "broken"))
		w.update("a0", "power_up")
		w.pass(2 * time.Second)
		return w.node("a0").Reason == "broken"
	}
	waitsForNobody := func(state string) func(w *world) bool {
		return func(w *world) bool {
			require.NoError(t, w.refused("a0", "down", "broken"))
			w.update("a0", state)
			return !w.node("a0").State.Has(slurm.NotResponding)
		}
	}
	for habit, c := range map[string]struct {
		accounting bool
		does       func(w *world) bool
		releases   []string
	}{
		"a reason ends with the return to service in the oldest and the newest":    {false, forgets, []string{"22.05", "26.05"}},
		"with a slurmdbd it does so in all":                                        {true, forgets, Releases()},
		"a node that is down loses its reason when it is powered up in the oldest": {false, remembers, Releases()[1:]},
		"with a slurmdbd too": {true, remembers, Releases()[1:]},
		"since 26.05, no job waits for the slurmd of a powered-down node": {false, waitsForNobody("undrain"), []string{"26.05"}},
		"nor where it is resumed": {false, waitsForNobody("resume"), []string{"26.05"}},
		"a job of more nodes than there are waits in all but 24.11 and 25.05": {false, func(w *world) bool {
			_, err := w.Submit(JobSpec{Partition: "train", Nodes: 5})
			return err == nil
		}, []string{"22.05", "23.02", "23.11", "24.05", "25.11", "26.05"}},
		"before 24.11 a job that is requeued while it is configuring has its nodes again at once": {false, func(w *world) bool {
			id := w.submit(train("a0"))
			w.pass(2 * time.Second)
			require.NoError(t, w.Requeue(id))
			w.pass(2 * time.Second)
			return w.JobState(id) == slurm.JobConfiguring
		}, []string{"22.05", "23.02", "23.11", "24.05"}},
		"before 24.11, a job held by that still shows its nodes": {false, func(w *world) bool {
			id := w.submit(train("a0"))
			w.pass(2 * time.Second)
			require.NoError(t, w.RequeueHold(id))
			return len(w.queued(id).Nodes) > 0
		}, []string{"22.05", "23.02", "23.11", "24.05"}},
		"before 24.05 nodes have been busy when slurmctld starts": {false, func(w *world) bool {
			w.powered("b0")
			w.pass(10 * time.Second)
			w.Restart()
			return w.node("b0").LastBusyTime.Equal(w.now)
		}, []string{"22.05", "23.02", "23.11"}},
		"before 23.11 each job has one less priority than the one before": {false, func(w *world) bool {
			first := w.queued(w.submit(train()))
			return first.Priority > w.queued(w.submit(train())).Priority
		}, []string{"22.05", "23.02"}},
	} {
		t.Run(habit, func(t *testing.T) {
			var which []string
			for _, version := range Releases() {
				if c.does(newWorld(t, version, func(o *Options) { o.Accounting = c.accounting })) {
					which = append(which, version)
				}
			}
			require.Equal(t, c.releases, which)
		})
	}
}
