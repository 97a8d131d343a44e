package flex

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"go.uber.org/zap"

	"slurmflex/flex/plan"
	"slurmflex/flex/wake"
	"slurmflex/slurm"
	"slurmflex/test/scenetest"
)

// queue is a Slurm with pending jobs.
type queue struct {
	doorScheduler
	jobs []slurm.Job
}

func (q *queue) PendingJobs(context.Context) ([]slurm.Job, error) { return q.jobs, nil }

// The queue shows all pending tasks of an array in one row. A pass lists those that have doors on
// their own.
func TestKeeperKnowsTheRowOfAnArrayWithSingleTasks(t *testing.T) {
	row := func(task, reservation string) slurm.Job {
		return slurm.Job{
			ID: 7, ArrayID: 7, ArrayTask: task, State: slurm.JobPending, Priority: 1, Partition: "train", Reason: "Priority", Reservation: reservation,
			Planned: names("alpha-a3-3"),
		}
	}
	w := scenetest.New(scenetest.Cluster("partitions:\n  train: {enable_job_exclusive: true, partition_nodeset: [a3]}\nslurmflex: {waiting: pending}",
		scenetest.FlexSet("a3", "us-central1-a", "node_count_dynamic_max: 4", "max_run_duration: 14400")))
	w.Snap.Jobs = []slurm.Job{row("2-9", ""), row("0", "slurmflex-alpha.door-7_0-1795262400")}
	w.Snap.Merged = []slurm.Job{row("0-9", "")}
	call, q := make(chan wake.Call, 1), &queue{}
	k := &Keeper{Slurm: q, Log: zap.NewNop(), Now: time.Now, Call: call}
	k.stood(nil)
	k.saw(w.Scene(), plan.Plan{})
	for tasks, calls := range map[string]int{"0-9": 0, "2-9": 0, "0-10": 1} {
		q.jobs = []slurm.Job{row(tasks, "")}
		k.watch(t.Context())
		assert.Len(t, call, calls, tasks)
		for len(call) > 0 {
			<-call
		}
	}
}
