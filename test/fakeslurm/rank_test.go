package fakeslurm

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slurmflex/slurm"
)

// everyHalfMinute runs backfill on its own schedule, as Slurm does by default.
func everyHalfMinute(o *Options) {
	o.Backfill = 30 * time.Second
	o.SuspendTime = 0
	o.Partitions[0].PowerDownOnIdle = false
}

// halfOpen returns a world with a0 and a1 warm and outside the cover. A one-hour job runs on
// a0.
func halfOpen(t *testing.T) *world {
	w := behindCover(t, "24.11", everyHalfMinute)
	w.scontrol("update reservationname=C flags+=purge_comp=900")
	w.powered("a[0-1]")
	w.scontrol("update reservationname=C nodes=a[2-3]")
	w.submit(JobSpec{Partition: "train", NodeList: []string{"a0"}, Limit: time.Hour, Run: time.Hour})
	w.pass(time.Second)
	w.are(slurm.JobRunning, 1)
	return w
}

// lasting returns a job on one node.
func lasting(limit time.Duration) JobSpec {
	return JobSpec{Partition: "train", Limit: limit, Run: limit}
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
			w := halfOpen(t)
			w.update("a1", "power_down_force")
			w.pass(15 * time.Second)
			head, short := w.submit(gang(2)), w.submit(lasting(10*time.Minute))
			w.pass(2 * time.Minute)
			w.waits(head, reasonResources)
			w.waits(short, reasonPriority)
			require.Zero(t, w.queued(head).Start)
			back(w)
			w.pass(time.Minute)
			require.NotEqual(t, slurm.JobPending, w.JobState(short))
		})
	}
}
