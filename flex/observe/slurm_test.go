package observe

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/config"
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
			o := Observer{Config: &config.Config{Cluster: "alpha"}, Slurm: tasksOnly{tasks: test.tasks}}
			snap := scene.Snapshot{Slurm: scene.Slurm{Jobs: []slurm.Job{test.queue}, Reservations: []slurm.Reservation{{Name: first}, {Name: last}}}}
			require.NoError(t, o.observeTasks(t.Context(), &snap))
			assert.Equal(t, test.want, snap.Jobs)
		})
	}
}
