package observe

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"slurmflex/config"
	"slurmflex/flex/memory"
	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
	"slurmflex/test/scenetest"
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

// throttling is a Slurm with arrays of a throttle. Array 99 cannot be read.
type throttling struct {
	Scheduler
	most  int
	asked *[]string
}

func (o throttling) ArrayThrottle(_ context.Context, array uint32, task int) (int, error) {
	*o.asked = append(*o.asked, fmt.Sprintf("%d_%d", array, task))
	if array == 99 {
		return 0, assert.AnError
	}
	return o.most, nil
}

func TestThrottlesAreReadIfTheQueueLacksThem(t *testing.T) {
	world := scenetest.New(scenetest.Cluster("partitions:\n  train: {enable_job_exclusive: true, partition_nodeset: [a3]}\nslurmflex: {waiting: pending}",
		scenetest.FlexSet("a3", "us-central1-a", "node_count_dynamic_max: 4", "max_run_duration: 14400")))
	row := func(array uint32, tasks string) slurm.Job {
		return slurm.Job{
			ID: array, ArrayID: array, ArrayTask: tasks, State: slurm.JobPending, Priority: 1, NodeCount: 1, User: "ann", Partition: "train", Reason: "Priority",
		}
	}
	var asked []string
	o := Observer{Config: world.Config, Memory: &memory.Memory{}, Log: zap.NewNop(), Promises: true}
	pass := func(after time.Duration, most int, jobs ...slurm.Job) map[uint32]int {
		asked = nil
		o.Slurm = throttling{most: most, asked: &asked}
		snap := scene.Snapshot{Begun: time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC).Add(after), Slurm: scene.Slurm{Jobs: jobs}}
		o.observeThrottles(t.Context(), &snap)
		return snap.Throttles
	}

	assert.Equal(t, map[uint32]int{5: 3, 7: 2}, pass(0, 2, row(5, "0-9%3"), row(7, "2-9"), row(6, "")))
	assert.Equal(t, []string{"7_2"}, asked)
	assert.Equal(t, map[uint32]int{7: 2}, pass(59*time.Second, 4, row(7, "2-9")))
	assert.Empty(t, asked, "it was read within the last minute")
	assert.Equal(t, map[uint32]int{7: 4}, pass(time.Minute, 4, row(7, "2-9")))

	assert.Equal(t, map[uint32]int{7: 4, 98: 0, 99: 1}, pass(time.Minute, 0, row(7, "2-9"), row(99, "0-9"), row(98, "0-9")), "99 cannot be read")

	var many []slurm.Job
	for i := range 30 {
		many = append(many, row(uint32(100+i), "0-9"))
	}
	many[29].ArrayTask = "3"
	for i := range 5 {
		throttles := pass(time.Duration(i)*40*time.Second, 2, many...)
		assert.Len(t, asked, []int{10, 10, 10, 10, 10}[i])
		assert.Len(t, throttles, []int{10, 20, 30, 30, 30}[i], "rows of arrays without other records show their throttle")
		assert.Equal(t, []string{"129_3", "109_0", "119_0", "129_3", "109_0"}[i], asked[0])
	}
	for i := range many {
		many[i].ArrayTask = "4"
	}
	o.Memory.Throttles = nil
	assert.Equal(t, 1, pass(0, 2, many...)[129], "not read yet, although a task has a record of its own")
}
