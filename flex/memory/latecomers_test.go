package memory

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
)

// A job may wait for days in the partition where it can start.
func TestLateJobIsForgottenAnHourAfterItsLastDoor(t *testing.T) {
	at := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	var l Latecomers
	l.Note(7, scene.Late{Until: at, In: []string{"us"}})
	job := slurm.Job{ID: 7, State: slurm.JobPending, Reservation: "slurmflex-alpha.door-7-1"}
	for range 48 {
		at = at.Add(30 * time.Minute)
		l.hold([]slurm.Job{job}, at)
		assert.Equal(t, map[uint32]scene.Late{7: {Until: at, In: []string{"us"}}}, l.Matter(at))
	}
	job.Reservation = ""
	for _, test := range []struct {
		after time.Duration
		known bool
	}{{time.Hour - time.Second, true}, {time.Hour, false}} {
		l.hold([]slurm.Job{job}, at.Add(test.after))
		assert.Equal(t, test.known, len(l.Matter(at.Add(test.after))) > 0, test.after)
	}
}

func TestReservationDoesNotShortenTheRestOfALateJob(t *testing.T) {
	at := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	var l Latecomers
	l.Note(7, scene.Late{Until: at.Add(time.Minute)})
	l.hold([]slurm.Job{{ID: 7, State: slurm.JobPending, Reservation: "slurmflex-alpha.door-7-1"}}, at)
	assert.Equal(t, at.Add(time.Minute), l.Matter(at)[7].Until)
}
