package fakeslurm

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slurmflex/slurm"
)

// halfBusy returns a world whose backfill runs every half minute, as Slurm's does by default. A
// one-hour job runs on a0 of the warm nodes a0 and a1.
func halfBusy(t *testing.T) *world {
	w := newWorld(t, "24.11", func(o *Options) {
		o.Backfill, o.SuspendTime = 30*time.Second, 0
		o.Partitions[0].PowerDownOnIdle, o.Partitions[0].Nodes = false, []string{"a0", "a1"}
	})
	w.powered("a[0-1]")
	id := w.submit(JobSpec{Partition: "train", NodeList: []string{"a0"}, Limit: time.Hour, Run: time.Hour})
	w.pass(time.Second)
	require.Equal(t, slurm.JobRunning, w.JobState(id))
	return w
}

func TestBackfillMissesANodeThatWasPoweredDownByForce(t *testing.T) {
	for name, back := range map[string]func(w *world){
		"it registers":       func(w *world) { w.powered("a1") },
		"slurmctld restarts": func(w *world) { w.Restart() },
		"it is set idle":     func(w *world) { w.update("a1", "idle") },
		"it is set idle while it is powering down": func(w *world) {
			w.update("a1", "power_up")
			w.pass(2 * time.Second)
			w.update("a1", "power_down_force")
			w.pass(2 * time.Second)
			w.update("a1", "idle")
		},
		"it is resumed while it is powering down": func(w *world) {
			w.update("a1", "power_up")
			w.pass(2 * time.Second)
			w.update("a1", "power_down_force")
			w.pass(2 * time.Second)
			w.update("a1", "resume")
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := halfBusy(t)
			w.update("a1", "power_down_force")
			w.pass(15 * time.Second)
			head := w.submit(JobSpec{Partition: "train", Nodes: 2, Limit: time.Hour})
			short := w.submit(JobSpec{Partition: "train", Limit: 10 * time.Minute})
			w.pass(2 * time.Minute)
			require.Equal(t, []string{reasonResources, reasonPriority}, []string{w.queued(head).Reason, w.queued(short).Reason})
			require.Zero(t, w.queued(head).Start)
			back(w)
			w.pass(time.Minute)
			require.NotEqual(t, slurm.JobPending, w.JobState(short))
		})
	}
}
