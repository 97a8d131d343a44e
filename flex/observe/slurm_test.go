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

// trainOnly is a cluster with one partition, whose jobs wait PENDING.
var trainOnly = scenetest.New(scenetest.Cluster("partitions:\n  train: {enable_job_exclusive: true, partition_nodeset: [a3]}\nslurmflex: {waiting: pending}",
	scenetest.FlexSet("a3", "us-central1-a", "node_count_dynamic_max: 4", "max_run_duration: 14400")))

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
	because := func(j slurm.Job, reason string) slurm.Job {
		j.Reason = reason
		return j
	}
	for name, test := range map[string]struct {
		queue slurm.Job
		tasks []slurm.Job
		want  []slurm.Job
	}{
		"the last one has the array's record": {
			queue: row(7, "0-1", last), tasks: []slurm.Job{row(7, "1", last), row(8, "0", first)},
			want: []slurm.Job{row(7, "1", last), row(8, "0", first)},
		},
		"a door was made, and its task does not use it yet": {
			queue: row(7, "0-1", ""), tasks: []slurm.Job{row(7, "1", ""), row(8, "0", first)},
			want: []slurm.Job{row(7, "1", ""), row(8, "0", first)},
		},
		"the row has the reasons of all tasks": {
			queue: because(row(7, "0-3", ""), "Resources,BeginTime"), tasks: []slurm.Job{because(row(8, "0", ""), "BeginTime"), because(row(7, "1", ""), "Resources")},
			want: []slurm.Job{because(row(7, "1-3", ""), "Resources"), because(row(8, "0", ""), "BeginTime")},
		},
		"all others have started since the queue was read": {
			queue: row(7, "0-1", ""), tasks: []slurm.Job{row(9, "1", ""), row(8, "0", first)},
			want: []slurm.Job{row(9, "1", ""), row(8, "0", first)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := Observer{Config: &config.Config{Cluster: "alpha"}, Slurm: tasksOnly{tasks: test.tasks}}
			snap := scene.Snapshot{Slurm: scene.Slurm{Jobs: []slurm.Job{test.queue}, Reservations: []slurm.Reservation{{Name: first}, {Name: last}}}}
			require.NoError(t, o.observeTasks(t.Context(), &snap))
			assert.Equal(t, test.want, snap.Jobs)
			if test.queue.Reservation == "" {
				assert.Equal(t, []slurm.Job{test.queue}, snap.Merged)
			}
		})
	}
}

// asked is a Slurm that records which tasks are asked for.
type asked struct {
	Scheduler
	addresses *[]string
}

func (o asked) TaskJobs(_ context.Context, addresses []string) ([]slurm.Job, error) {
	*o.addresses = addresses
	return nil, nil
}

func TestTasksOfEachRowThatHidesSomeAreRead(t *testing.T) {
	row := func(array uint32, tasks, reason string) slurm.Job {
		return slurm.Job{ID: array, ArrayID: array, ArrayTask: tasks, State: slurm.JobPending, Partition: "train", Reason: reason}
	}
	atDoor := row(9, "4-5", "Reservation,Priority")
	atDoor.Reservation = "slurmflex-alpha.door-9_5-1795262400"
	var addresses []string
	o := Observer{Config: trainOnly.Config, Slurm: asked{addresses: &addresses}, Promises: true}
	read := func(jobs ...slurm.Job) []string {
		addresses = nil
		require.NoError(t, o.observeTasks(t.Context(), &scene.Snapshot{Slurm: scene.Slurm{Jobs: jobs}}))
		return addresses
	}
	assert.Empty(t, read(row(7, "0-3", "Priority"), row(8, "2", "Resources,BeginTime")))
	assert.Equal(t, []string{"7_0", "7_2", "9_4", "9_5"}, read(row(7, "0,2", "Resources,JobHeldUser"), atDoor))
	huge := row(7, "0-99999", "Resources,JobHeldUser")
	assert.Len(t, read(huge), tasksAtOnce)
	assert.Equal(t, 2, len(read(huge, row(8, "0-1", "JobHeldUser,Priority")))-tasksAtOnce/2, "each row has its share")
	o.Promises = false
	assert.Empty(t, read(huge), "without a cover, Slurm starts each task that may start")
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
	row := func(array uint32, tasks string) slurm.Job {
		return slurm.Job{
			ID: array, ArrayID: array, ArrayTask: tasks, State: slurm.JobPending, Priority: 1, NodeCount: 1, User: "ann", Partition: "train", Reason: "Priority",
		}
	}
	var asked []string
	o := Observer{Config: trainOnly.Config, Memory: &memory.Memory{}, Log: zap.NewNop(), Promises: true}
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

	changed, held := row(97, "0-9"), row(96, "0-9")
	changed.Reason, held.Priority = "None", 0
	assert.Equal(t, map[uint32]int{97: 2}, pass(time.Minute, 2, changed, held), "Slurm clears the reason after each change")

	var many []slurm.Job
	for i := range 30 {
		many = append(many, row(uint32(100+i), "0-9"))
	}
	for i := range 5 {
		throttles := pass(time.Duration(i)*40*time.Second, 2, many...)
		assert.Len(t, asked, 10)
		assert.Len(t, throttles, 30)
		assert.Equal(t, []int{1, 1, 2, 2, 2}[i], throttles[129], "an array that was not read yet has one task at once")
		assert.Equal(t, []string{"100_0", "110_0", "120_0", "100_0", "110_0"}[i], asked[0])
	}
}
