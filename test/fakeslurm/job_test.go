package fakeslurm

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slurmflex/slurm"
	"slurmflex/slurm/scontrol"
)

func TestJobsPreferNodesThatAreUpOrPoweringUp(t *testing.T) {
	w := newWorld(t, "24.11")
	w.update("a2", "power_up")
	w.pass(2 * time.Second)
	id := w.submit(train())
	w.pass(time.Second)
	require.Equal(t, []string{"a2"}, w.queued(id).Nodes)
}

func TestTimeLimitDoesNotRunWhileNodesPowerUp(t *testing.T) {
	w := newWorld(t, "24.11", func(o *Options) { o.ResumeTimeout = 10 * time.Minute })
	short := train("a0")
	short.Limit = time.Minute
	id := w.submit(short)
	w.pass(3 * time.Minute)
	require.Equal(t, slurm.JobConfiguring, w.JobState(id))
	w.boot("a0")
	w.pass(40 * time.Second)
	require.Equal(t, slurm.JobRunning, w.JobState(id))
	w.pass(90 * time.Second)
	require.Equal(t, slurm.JobTimeout, w.JobState(id))
}

// Slurm 22.05.8 ends such a job with DEADLINE exactly when its BeginTime passes.
func TestDeadlineEndsOnlyJobsWithoutNodes(t *testing.T) {
	w := newWorld(t, "22.05", func(o *Options) { o.ResumeTimeout = time.Hour })
	spec := train("a0")
	spec.Limit, spec.Deadline = 10*time.Minute, w.now.Add(15*time.Minute)
	id := w.submit(spec)
	w.pass(6 * time.Minute)
	require.Equal(t, slurm.JobConfiguring, w.JobState(id))
	w.update("a0", "power_down_force")
	w.pass(time.Minute)
	require.Equal(t, slurm.JobPending, w.JobState(id))
	w.pass(90 * time.Second)
	require.Equal(t, slurm.JobDeadline, w.JobState(id))

	spec.MinTime = time.Minute
	id = w.submit(spec)
	w.pass(2 * time.Second)
	require.Equal(t, slurm.JobConfiguring, w.JobState(id), "it takes less time")
}

func TestUnlimitedJobShowsOneYearAfterAllocation(t *testing.T) {
	w := newWorld(t, "24.11")
	endless := train("a0")
	endless.Limit, endless.Begin = 0, w.now.Add(time.Minute)
	id := w.submit(endless)
	require.Equal(t, "UNLIMITED", w.queued(id).Limit.String())
	w.pass(59 * time.Second)
	require.Equal(t, "BeginTime", w.queued(id).Reason)
	w.pass(2 * time.Second)
	require.Equal(t, "365-00:00:00", w.queued(id).Limit.String())
}

func TestOwnerCommandsBehaveLikeScontrol(t *testing.T) {
	w := newWorld(t, "24.11")
	ctx := t.Context()
	salloc, batch := train("a0"), train("a1")
	salloc.Interactive, salloc.User = true, "ada"
	waits, batchWaits := w.submit(salloc), w.submit(batch)
	require.Equal(t, "ada", w.queued(waits).User)
	require.NoError(t, w.NotifyJob(ctx, waits, "hello\nthere"))
	require.Equal(t, []string{"hello there"}, w.Notices(waits))
	require.ErrorContains(t, w.NotifyJob(ctx, batchWaits, "hello"), "Requested operation is presently disabled")
	require.NoError(t, w.SetAdminComment(ctx, waits, "it waits"))
	records, err := w.JobRecords(ctx, []uint32{waits})
	require.NoError(t, err)
	require.Equal(t, "it waits", records[0].AdminComment)

	require.NoError(t, w.Cancel(waits))
	require.ErrorIs(t, w.HoldJob(ctx, waits), scontrol.ErrJobEnded)
	require.ErrorIs(t, w.SetAdminComment(ctx, waits, "x"), scontrol.ErrJobEnded)
	require.ErrorIs(t, w.NotifyJob(ctx, waits, "x"), scontrol.ErrJobEnded)
	require.ErrorIs(t, w.HoldJob(ctx, 99), scontrol.ErrUnknownJob)
	require.EqualError(t, w.HoldJob(ctx, 99), "hold: job 99: no such job")
	require.NoError(t, w.CancelJob(ctx, 99))
	w.pass(6 * time.Minute)
	require.ErrorIs(t, w.HoldJob(ctx, waits), scontrol.ErrUnknownJob, "it is forgotten")
	require.Equal(t, slurm.JobCancelled, w.JobState(waits))
}

func TestInvalidJobsAreRefusedInSlurmsWords(t *testing.T) {
	w := newWorld(t, "24.11")
	for words, spec := range map[string]JobSpec{
		"Invalid partition name specified":                   {Partition: "nowhere"},
		"Invalid node name specified":                        train("a9"),
		"sbatch: Requested node configuration is not availa": train("b0"),
	} {
		_, err := w.Submit(spec)
		require.ErrorContains(t, err, words)
	}
	large := JobSpec{Partition: "train", Nodes: 5}
	_, err := w.Submit(large)
	require.ErrorContains(t, err, "Requested node configuration is not available")
	require.Equal(t, uint32(3), w.submit(train()), "the impossible jobs have used up two IDs")
	old := newWorld(t, "22.05")
	id := old.submit(large)
	old.pass(time.Second)
	require.Equal(t, "PartitionNodeLimit", old.queued(id).Reason)
}

func TestJobHeldDuringPowerUpStaysHeldAfterItsNodeIsLost(t *testing.T) {
	w := newWorld(t, "24.11")
	id := w.submit(train("a0"))
	w.pass(2 * time.Second)
	require.NoError(t, w.HoldJob(t.Context(), id))
	w.pass(5 * time.Second)
	require.Equal(t, slurm.JobConfiguring, w.JobState(id))
	w.update("a0", "power_down_force")
	w.pass(10 * time.Minute)
	require.Equal(t, slurm.JobPending, w.JobState(id))
	require.Equal(t, "JobHeldAdmin", w.queued(id).Reason)
	require.NoError(t, w.Release(id))
	w.pass(time.Second)
	require.Equal(t, slurm.JobConfiguring, w.JobState(id))
}

func TestJobOnASilentNodeIsCompletingUntilTheNodeIsDown(t *testing.T) {
	w := newWorld(t, "24.11")
	w.powered("b0")
	id := w.submit(open("b0"))
	w.pass(2 * time.Second)
	w.Silence("b0")
	require.NoError(t, w.Cancel(id))
	require.Equal(t, "1 COMPLETING b0", w.squeue())
	w.shows("b0", "IDLE+CLOUD+COMPLETING")
	w.pass(60 * time.Second)
	require.Empty(t, w.squeue())
	w.shows("b0", "DOWN+CLOUD+NOT_RESPONDING")
	require.Equal(t, slurm.JobCancelled, w.JobState(id))
}

func TestNoRequeueAndInteractiveJobsCannotBeRequeued(t *testing.T) {
	w := newWorld(t, "24.11")
	batch, salloc := train("a0"), train("a1")
	batch.NoRequeue, salloc.Interactive = true, true
	first, second := w.submit(batch), w.submit(salloc)
	w.pass(2 * time.Second)
	require.ErrorContains(t, w.Requeue(first), "Requested operation is presently disabled")
	require.ErrorContains(t, w.Requeue(second), "Only batch jobs are accepted or processed")
	records, err := w.JobRecords(t.Context(), []uint32{second, first, 99})
	require.NoError(t, err)
	require.Len(t, records, 2)
	require.False(t, records[0].Requeue)
	require.False(t, records[1].Batch)
}

// het submits a heterogeneous job with one node in each of two partitions.
func (w *world) het() (first, second uint32) {
	w.t.Helper()
	first, err := w.SubmitHet(
		JobSpec{Partition: "train", NodeList: []string{"a0"}, Limit: time.Hour, Run: time.Minute},
		JobSpec{Partition: "open", NodeList: []string{"b0"}, Limit: time.Hour, Run: time.Minute},
	)
	require.NoError(w.t, err)
	w.pass(2 * time.Second)
	return first, first + 1
}

func TestHeterogeneousComponentsStartAndEndTogether(t *testing.T) {
	onEachRelease(t, func(t *testing.T, w *world) {
		first, second := w.het()
		require.Equal(t, []string{"resume a0,b0 for job 1 for job 2"}, w.programs())
		require.Equal(t, []uint32{first, first}, []uint32{w.queued(first).HetID, w.queued(second).HetID})
		require.Equal(t, uint32(1), w.queued(second).HetOffset)
		w.boot("b0")
		w.pass(29 * time.Second)
		require.Equal(t, slurm.JobRunning, w.JobState(second), "its own nodes are up")
		require.Equal(t, slurm.JobConfiguring, w.JobState(first))
		w.boot("a0")
		w.pass(3 * time.Minute)
		w.are(slurm.JobCompleted, first, second)
	})
}

func TestHeterogeneousJobIsRequeuedAsAWhole(t *testing.T) {
	onEachRelease(t, func(t *testing.T, w *world) {
		first, second := w.het()
		w.update("b0", "power_down_force")
		w.are(slurm.JobPending, first, second)
		w.pass(time.Second)
		require.Equal(t, slurm.Idle, w.node("a0").State.Base)
		require.NoError(t, w.Cancel(first))
		require.Equal(t, slurm.JobCancelled, w.JobState(second))
	})
}

func TestHeterogeneousJobIsRequeuedIfAComponentIsLate(t *testing.T) {
	w := newWorld(t, "22.05", func(o *Options) { o.ResumeTimeout = time.Hour })
	first, second := w.het()
	w.boot("a0")
	w.pass(2 * time.Minute)
	w.are(slurm.JobPending, first, second)
}

// The rows are those of 22.05, 24.11 and 26.05.
func TestMergedRowOfAnArrayDoesNotShowItsThrottle(t *testing.T) {
	onEachRelease(t, func(t *testing.T, w *world) {
		id := w.submit(JobSpec{Partition: "train", Tasks: 6, Throttle: 2, Begin: w.now.Add(time.Hour)})
		row := func() string { return listed(w, w.Jobs)[0].ArrayTask }
		require.Equal(t, "0-5%2", row())
		require.NoError(t, w.SetReservationOf(t.Context(), fmt.Sprintf("%d_3", id), ""))
		require.Equal(t, "0-5", row())
		for _, task := range []int{0, 3} {
			throttle, err := w.ArrayThrottle(t.Context(), id, task)
			require.NoError(t, err)
			require.Equal(t, 2, throttle)
		}
	})
}

func TestNoMoreTasksRunThanTheThrottleAllows(t *testing.T) {
	onEachRelease(t, func(t *testing.T, w *world) {
		w.submit(JobSpec{Partition: "train", Tasks: 6, Throttle: 2})
		w.pass(2 * time.Second)
		jobs := listed(w, w.Jobs)
		require.Len(t, jobs, 3)
		require.Equal(t, "2-5%2", jobs[0].ArrayTask)
		require.Equal(t, reasonThrottle, jobs[0].Reason)
	})
}
