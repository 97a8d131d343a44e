package flex

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
)

// tasksOnly is a Slurm that shows only the tasks of arrays.
type tasksOnly struct {
	Scheduler
	tasks []slurm.Job
}

func (o tasksOnly) TaskJobs(context.Context, []string) ([]slurm.Job, error) { return o.tasks, nil }

// The rows are those of squeue 26.05 for an array of four pending tasks. Two of the tasks have
// doors.
func TestTasksWithDoorsAreReadInAdditionToTheirArray(t *testing.T) {
	const first, last = "slurmflex-alpha.door-7_0-1795262400", "slurmflex-alpha.door-7_1-1795262400"
	row := func(id uint32, task, reservation string) slurm.Job {
		return slurm.Job{ID: id, ArrayID: 7, ArrayTask: task, State: slurm.JobPending, Reservation: reservation}
	}
	for name, test := range map[string]struct {
		queue slurm.Job
		tasks []slurm.Job
		want  []slurm.Job
	}{
		"other jobs get no door": {
			queue: row(7, "0-3", ""), tasks: []slurm.Job{row(8, "0", first)},
			want: []slurm.Job{row(7, "0-3", ""), row(8, "0", first)},
		},
		"the last one has the array's record": {
			queue: row(7, "0-1", last), tasks: []slurm.Job{row(7, "1", last), row(8, "0", first)},
			want: []slurm.Job{row(7, "1", last), row(8, "0", first)},
		},
		"a door was made, and its task does not use it yet": {
			queue: row(7, "0-1", ""), tasks: []slurm.Job{row(7, "1", ""), row(8, "0", first)},
			want: []slurm.Job{row(7, "0-1", ""), row(8, "0", first)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := &Reconciler{Config: alphaConfig(t), Scheduler: tasksOnly{tasks: test.tasks}}
			snap := scene.Snapshot{Jobs: []slurm.Job{test.queue}, Reservations: []slurm.Reservation{{Name: first}, {Name: last}}}
			require.NoError(t, r.observeTasks(t.Context(), &snap))
			assert.Equal(t, test.want, snap.Jobs)
		})
	}
}

// strict is a Slurm that rejects reservations for users.
type strict struct{ Scheduler }

func (strict) CreateReservation(context.Context, slurm.ReservationSpec) error {
	return slurm.ErrUserUnknown
}

func TestRejectedReservationDelaysTheJob(t *testing.T) {
	now := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	r := &Reconciler{Config: alphaConfig(t), Scheduler: strict{}, Now: func() time.Time { return now }}
	require.ErrorIs(t, r.createReservation(t.Context(), action.CreateReservation{Job: 7, User: "eve"}), slurm.ErrUserUnknown)
	require.Error(t, r.createReservation(t.Context(), action.CreateReservation{}))
	assert.Equal(t, map[uint32]scene.Late{7: {Until: now.Add(lateRest), Unknown: "eve"}}, r.memory.Late.Matter(now))
}
