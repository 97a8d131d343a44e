package fakeslurm

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slurmflex/slurm"
	"slurmflex/slurm/scontrol"
)

func TestACancelledJobsNodesGoOnPoweringUpAndCarryTheNextWithoutACall(t *testing.T) {
	eachVersion(t, func(t *testing.T, version string) {
		w := newWorld(t, version)
		id := w.submit(train("a0", "a1"))
		w.pass(2 * time.Second)
		w.programs()
		require.NoError(t, w.Cancel(id))
		require.Empty(t, w.squeue())
		w.pass(2 * time.Second)
		require.Equal(t, slurm.Idle, w.node("a0").State.Base)
		require.True(t, w.node("a0").State.Has(slurm.PoweringUp))

		next := w.submit(train("a1"))
		w.pass(3 * time.Second)
		require.Equal(t, slurm.JobConfiguring, w.JobState(next))
		require.Empty(t, w.programs())
	})
}

func TestNodesThatAreUpOrPoweringUpAreTakenFirst(t *testing.T) {
	w := newWorld(t, "24.11")
	w.update("a2", "power_up")
	w.pass(2 * time.Second)
	id := w.submit(train())
	w.pass(time.Second)
	require.Equal(t, []string{"a2"}, w.queued(id).Nodes)
}

func TestPowerDownByForceRequeuesTheJobOrFailsIt(t *testing.T) {
	eachVersion(t, func(t *testing.T, version string) {
		w := newWorld(t, version, func(o *Options) { o.ResumeTimeout = time.Hour })
		id := w.submit(train("a0", "a1"))
		salloc := train("a2")
		salloc.Interactive = true
		failed := w.submit(salloc)
		w.pass(2 * time.Second)
		w.programs()
		require.NoError(t, w.refused("a0,a2", "power_down_force", "no capacity"))
		require.Equal(t, slurm.JobNodeFail, w.JobState(failed))
		w.pass(time.Second)
		w.shows("a0", "IDLE+CLOUD+POWERING_DOWN")
		require.Equal(t, "no capacity", w.node("a0").Reason)
		require.Equal(t, []string{"suspend a[0,2]"}, w.programs())
		require.True(t, w.node("a1").State.Has(slurm.PoweringUp), "the job's other node lingers")

		require.Equal(t, "BeginTime", w.queued(id).Reason)
		w.update("a0,a2", "resume")
		w.pass(118 * time.Second)
		require.Equal(t, slurm.JobPending, w.JobState(id))
		w.pass(3 * time.Second)
		require.Equal(t, slurm.JobConfiguring, w.JobState(id))
		require.Equal(t, 1, w.jobs[id].restarts)
	})
}

func TestAJobHeldWhileItsNodesComeIsHeldWhenTheyGo(t *testing.T) {
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

func TestRequeueOfAConfiguringJob(t *testing.T) {
	t.Run("on 22.05 it is on the same nodes again at once, without a call", func(t *testing.T) {
		w := newWorld(t, "22.05")
		id := w.submit(train("a0"))
		w.pass(2 * time.Second)
		w.programs()
		require.NoError(t, w.Requeue(id))
		w.pass(2 * time.Second)
		require.Equal(t, slurm.JobConfiguring, w.JobState(id))
		require.Empty(t, w.programs())
	})
	t.Run("on 24.11 it waits", func(t *testing.T) {
		w := newWorld(t, "24.11")
		id := w.submit(train("a0"))
		w.pass(2 * time.Second)
		require.NoError(t, w.Requeue(id))
		w.pass(2 * time.Second)
		require.Equal(t, "BeginTime", w.queued(id).Reason)
		require.True(t, w.node("a0").State.Has(slurm.PoweringUp))
		require.NoError(t, w.StartNow(id))
		w.pass(2 * time.Second)
		require.Equal(t, slurm.JobConfiguring, w.JobState(id))
	})
	t.Run("on 22.05 one that is held too goes on to show its nodes", func(t *testing.T) {
		w := newWorld(t, "22.05")
		id := w.submit(train("a0"))
		w.pass(2 * time.Second)
		require.NoError(t, w.RequeueHold(id))
		w.pass(2 * time.Second)
		require.Equal(t, slurm.JobPending, w.queued(id).State)
		require.Equal(t, []string{"a0"}, w.queued(id).Nodes)
		require.Equal(t, "job requeued in held state", w.queued(id).Reason)
		require.Equal(t, slurm.Idle, w.node("a0").State.Base)
	})
}

func TestJobsThatSlurmRequeuesForNobody(t *testing.T) {
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

func TestTheTimeLimitIsNotEnforcedWhileNodesCome(t *testing.T) {
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

func TestALimitThatIsNoneIsAYearOnceNodesAreAllocated(t *testing.T) {
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

func TestTheLastTaskOfAnArrayHasTheArraysID(t *testing.T) {
	w := newWorld(t, "24.11")
	tasks := JobSpec{Partition: "train", Nodes: 2, Tasks: 3, Limit: time.Hour, Run: time.Hour}
	id := w.submit(tasks)
	require.Equal(t, "0-2", w.queued(id).ArrayTask)
	w.pass(time.Second)
	require.Equal(t, "1 PENDING\n2 CONFIGURING a[0-1]\n3 CONFIGURING a[2-3]", w.squeue())
	require.Equal(t, "2", w.queued(id).ArrayTask)
	require.Equal(t, id, w.queued(2).ArrayID)
	w.pass(time.Second)
	require.NoError(t, w.CancelJob(t.Context(), 2))
	w.pass(time.Second)
	require.Equal(t, "1 CONFIGURING a[0-1]\n3 CONFIGURING a[2-3]", w.squeue())
	require.NoError(t, w.Cancel(id), "all its tasks")
	require.Empty(t, w.squeue())
}

func TestTasksThatAreStillOneRecordCannotBeReachedOneByOne(t *testing.T) {
	w := newWorld(t, "24.11")
	id := w.submit(JobSpec{Partition: "train", Nodes: 4, Tasks: 3, Limit: time.Hour})
	require.ErrorContains(t, w.HoldJob(t.Context(), id), "hold: squeue: job 1 stands for tasks that have not been told apart yet")
}

func TestPrioritiesAreThoseOfTheRelease(t *testing.T) {
	for version, want := range map[string][]uint64{"22.05": {4294901759, 4294901758}, "24.11": {1, 1}} {
		t.Run(version, func(t *testing.T) {
			w := newWorld(t, version)
			first, second := w.submit(train("a0")), w.submit(train("a1"))
			require.Equal(t, want, []uint64{w.queued(first).Priority, w.queued(second).Priority})
		})
	}
}

func TestAShrunkJobGivesItsLastNodesBack(t *testing.T) {
	w := newWorld(t, "24.11")
	w.powered("b[0-1]")
	id := w.submit(open("b0", "b1"))
	w.pass(2 * time.Second)
	require.NoError(t, w.Shrink(id, 1))
	w.shows("b0", "MIXED+CLOUD")
	w.shows("b1", "IDLE+CLOUD")
	require.Equal(t, []string{"b0"}, w.queued(id).Nodes)
	require.ErrorContains(t, w.Shrink(id, 2), "Node count specification invalid")
}

func TestANodeMarkedToGoIsMissedTooWhileAJobIsCompletingOnIt(t *testing.T) {
	w := newWorld(t, "24.11")
	w.powered("a0")
	id := w.submit(train("a0"))
	w.pass(2 * time.Second)
	w.Silence("a0")
	require.NoError(t, w.Cancel(id))
	w.pass(10 * time.Second)
	w.shows("a0", "IDLE+CLOUD+COMPLETING+POWER_DOWN")
	w.pass(50 * time.Second)
	require.Empty(t, w.squeue())
	require.Equal(t, []string{"suspend a0"}, w.programs())
}

func TestAJobThatEndsOnASilentNodeIsCompletingUntilTheNodeIsDown(t *testing.T) {
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

func TestWhatIsWrongWithAJobIsRefusedInSlurmsWords(t *testing.T) {
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
	require.Equal(t, uint32(3), w.submit(train()), "what could never run has used up two ids")
	old := newWorld(t, "22.05")
	id := old.submit(large)
	old.pass(time.Second)
	require.Equal(t, "PartitionNodeLimit", old.queued(id).Reason)
}

func TestAJobsOwnerIsReachedAsByScontrol(t *testing.T) {
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
