package flex

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/slurm"
	"slurmflex/test/fakeslurm"
	"slurmflex/test/must"
)

// The queue shows one row for all pending tasks of an array.
func TestTasksThatWaitForSomethingElseAreJudgedByThemselves(t *testing.T) {
	cases := map[string]struct {
		array fakeslurm.JobSpec
		begin func(d *busyDay, id uint32)
		left  int // tasks still pending in the end
	}{
		"a held task with a throttle": {
			array: fakeslurm.JobSpec{Throttle: 1},
			begin: func(d *busyDay, id uint32) { must.Get(d.slurm.HoldTask(id, 0)) },
			left:  1,
		},
		"a held task, and one node is free": {
			begin: func(d *busyDay, id uint32) {
				_, err := d.slurm.Submit(fakeslurm.JobSpec{Partition: "train", Nodes: 7, Limit: 4 * time.Hour, Run: 3 * time.Hour, Priority: 100})
				require.NoError(d.t, err)
				must.Get(d.slurm.HoldTask(id, 0))
				d.lasts(10 * time.Minute)
			},
			left: 1,
		},
		"a released task of a held array": {
			begin: func(d *busyDay, id uint32) {
				task := must.Get(d.slurm.HoldTask(id, 2))
				require.NoError(d.t, d.slurm.SetPriority(id, 0))
				require.NoError(d.t, d.slurm.Release(task))
			},
			left: 3,
		},
		"a task that slurmflex held after its wait limit": {
			array: fakeslurm.JobSpec{Throttle: 1, Comment: "slurmflex:wait=10m,hold"},
			begin: func(d *busyDay, _ uint32) {
				d.cloud.SetCapacity("us-central1-a", "a3-highgpu-8g", 0)
				d.lasts(15 * time.Minute)
				d.cloud.SetCapacity("us-central1-a", "a3-highgpu-8g", 8)
			},
			left: 1,
		},
	}
	for name, c := range cases {
		for _, waiting := range []string{"configuring", "pending"} {
			t.Run(name+", "+waiting, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					d := newBusyDay(t, waiting)
					d.lasts(time.Minute)
					array := c.array
					array.Partition, array.Nodes, array.Tasks, array.Priority = "train", 1, 4, 10
					array.Limit, array.Run, array.Begin = time.Hour, 5*time.Minute, time.Now().Add(time.Minute)
					id, err := d.slurm.Submit(array)
					require.NoError(t, err)
					c.begin(d, id)
					d.lasts(time.Hour)
					jobs, err := d.slurm.Jobs(t.Context())
					require.NoError(t, err)
					left := 0
					for _, j := range jobs {
						if j.Array() == id && j.State == slurm.JobPending {
							left += len(j.Tasks())
						}
					}
					assert.Equal(t, c.left, left)
				})
			})
		}
	}
}
