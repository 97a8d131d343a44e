package flex

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"slurmflex/config"
	"slurmflex/flex/plan/action"
	"slurmflex/slurm"
	"slurmflex/test/fakeslurm"
	"slurmflex/test/must"
)

func TestJobOwnersAreNotified(t *testing.T) {
	eachStory(t, map[string]func(*world){
		"a hold of one component of a heterogeneous job notifies all components": func(w *world) {
			w.soldOut()
			for id := range uint32(3) {
				w.slurm.submit(id+1, "train", fmt.Sprint("alpha-a3-", id))
			}
			w.slurm.rows = func(j *slurm.Job) {
				j.HetID, j.HetOffset = 1, j.ID-1
				if j.ID == 4 {
					j.State = slurm.JobCancelled
				}
			}
			must.Get(w.slurm.Submit(fakeslurm.JobSpec{Partition: "train", Begin: time.Now().Add(time.Hour)}))
			require.NoError(w, w.slurm.SetAdminComment(w.Context(), 3, "priority raised for the deadline"))
			w.settle()
			assert.Contains(w, w.slurm.comment(2), "flex-start: waiting ")

			assert.NoError(w, w.cloud.FailRequest("alpha-a3-job-2", "a1", "INVALID_ARGUMENT", "no"))
			w.mustPass()
			assert.Equal(w, []uint32{2}, w.slurm.held())
			for _, id := range []uint32{1, 2} {
				assert.Regexp(w, `^flex-start: held( at 2000-\S+Z)?: INVALID_ARGUMENT: no$`, w.slurm.comment(id))
			}
			assert.Equal(w, "priority raised for the deadline", w.slurm.comment(3))
			assert.Empty(w, w.slurm.comment(4), "component 4 has ended: Slurm would refuse it")
		},
		"records are read once and together": func(w *world) {
			w.running(1, "shared", "alpha-one-0")
			w.soldOut()
			w.slurm.submit(2, "train", "alpha-a3-0")
			w.slurm.submit(3, "train", "alpha-a3-1")
			w.slurm.asked = nil
			w.mustPass()
			require.Len(w, w.slurm.asked, 1)
			assert.ElementsMatch(w, []uint32{2, 3}, w.slurm.asked[0])
			w.settle() // writes their AdminComments
			w.slurm.asked = nil
			w.mustPass()
			assert.Empty(w, w.slurm.asked)

			w.begin()
			w.slurm.illegible = errors.New("squeue: Socket timed out")
			w.passes(2, time.Second)
			w.slurm.illegible, w.slurm.asked = nil, nil
			w.passes(3, time.Second)
			require.Len(w, w.slurm.asked, 1, "until one read has succeeded")
			assert.ElementsMatch(w, []uint32{1, 2, 3}, w.slurm.asked[0], "also of a job that has its nodes, because it may know when they end")
		},
		"the reason of a hold or requeue is read again after a restart": func(w *world) {
			for id := range uint32(2) {
				w.slurm.submit(id+1, "train", fmt.Sprint("alpha-a3-", id))
				require.NoError(w, w.slurm.RequeueJob(w.Context(), id+1))
			}
			require.NoError(w, w.slurm.HoldJob(w.Context(), 1))
			require.NoError(w, w.slurm.SetAdminComment(w.Context(), 1, "flex-start: held: no right"))
			must.Get(w.slurm.Submit(fakeslurm.JobSpec{Partition: "train", Begin: time.Now().Add(time.Hour)}))
			must.Get(w.slurm.Submit(fakeslurm.JobSpec{Partition: "train", After: 3}))
			w.slurm.Step()
			w.begin()
			snap, _ := w.look()
			assert.Len(w, w.slurm.asked, 1)
			assert.ElementsMatch(w, []uint32{1, 2}, w.slurm.asked[0])
			assert.Equal(w, "flex-start: held: no right", snap.Seen.Told[1])
		},
		"an interactive job on a node that cannot be provisioned is notified": func(w *world) {
			w.refuses("regionInstanceGroupManagerResizeRequests.insert", "INVALID_ARGUMENT", "no")
			w.slurm.submit(1, "shared", "alpha-a3-0")
			w.slurm.submit(2, "shared", "alpha-a3-0")
			w.slurm.records = map[uint32]slurm.JobRecord{2: {Batch: false, Requeue: true}}
			w.passes(2, 0)
			assert.Equal(w, []string{"2: flex-start: attempt 1 failed: INVALID_ARGUMENT: no; retrying at 2000-01-01T00:01:04Z"}, w.slurm.notices)
			assert.Equal(w, map[uint32]slurm.JobState{1: slurm.JobConfiguring, 2: slurm.JobConfiguring}, w.slurm.queue())
		},
	})
}

// outlives lets job 1 run until 15 minutes before its lease ends.
func (w *world) outlives(record slurm.JobRecord) {
	set, _, _ := w.Config.Find("alpha-one-0")
	set.Flex.OnLeaseEnd, set.Flex.LeaseEndWarning = config.RequeueFirst, 10*time.Minute
	w.slurm.records = map[uint32]slurm.JobRecord{1: record}
	w.running(1, "shared", "alpha-one-0")
	require.NoError(w, w.slurm.SetLimit(1, 5*time.Hour))
	time.Sleep(set.Flex.MaxRunDuration - 15*time.Minute)
	w.settle()
}

// signalledOnce asserts that job 1, and no other, has got one signal.
func (w *world) signalledOnce() {
	w.Helper()
	require.Equal(w, []string{"1: USR1"}, w.slurm.signals)
}

func TestAJobThatOutlivesItsLease(t *testing.T) {
	type outcome struct {
		record   slurm.JobRecord
		signals  []string
		notices  int
		state    slurm.JobState
		comments string // suffix of the AdminComment
	}
	eachInWorld(t, map[string]outcome{
		"is signalled once and requeued": {
			slurm.JobRecord{Batch: true, Requeue: true, Comment: "slurmflex:signal"}, []string{"1: USR1"}, 0, slurm.JobPending, "flex-start: requeued: the lease of its nodes ends at 2000-01-01T02:00:",
		},
		"is not signalled if it did not ask": {
			slurm.JobRecord{Batch: true}, nil, 0, slurm.JobRunning, ", before its time limit",
		},
		"is announced on the terminal of its salloc": {
			slurm.JobRecord{Requeue: true}, nil, 1, slurm.JobRunning, "; warned at ",
		},
	}, func(w *world, want outcome) {
		w.outlives(want.record)
		assert.Empty(w, w.slurm.signals)
		for range 26 { // each in a new process
			time.Sleep(30 * time.Second)
			w.begin()
			w.mustPass()
		}
		assert.Equal(w, want.signals, w.slurm.signals)
		assert.Len(w, w.slurm.notices, want.notices)
		assert.Equal(w, want.state, w.slurm.JobState(1))
		assert.Contains(w, w.slurm.comment(1), want.comments)
	})
}

func TestJobIsSignalledOnceByTwoProcesses(t *testing.T) {
	eachInWorld(t, map[string]func(context.Context, *world, *Reconciler) error{
		"slurmctld moves to the backup and back (scontrol takeover)": func(ctx context.Context, w *world, backup *Reconciler) (err error) {
			w.memory.StandBy() // as Run does when Check returns ErrStandby
			for n := 0; n < 13 && err == nil; n++ {
				time.Sleep(30 * time.Second)
				_, err = backup.pass(ctx, untilEnded)
			}
			return err
		},
		"an admin runs slurmflex sync beside the daemon": func(ctx context.Context, w *world, sync *Reconciler) error {
			time.Sleep(6 * time.Minute)
			_, err := sync.Sync(ctx, w.lock)
			return err
		},
	}, func(w *world, signals func(context.Context, *world, *Reconciler) error) {
		w.outlives(slurm.JobRecord{Batch: true, Comment: "slurmflex:signal"})
		w.mustPass()
		other := &Reconciler{Config: w.Config, Scheduler: w.slurm, Cloud: w.Cloud, Log: zap.NewNop(), Now: time.Now}
		require.NoError(w, signals(w.Context(), w, other))
		w.signalledOnce()
		told := w.slurm.comment(1)
		for range 4 {
			w.mustPass()
			time.Sleep(30 * time.Second)
		}
		w.signalledOnce()
		assert.Equal(w, told, w.slurm.comment(1))
		assert.Equal(w, told, w.memory.Told.All()[1])
	})
}

func TestMessageOfAnotherProcessIsKept(t *testing.T) {
	const held = "flex-start: held at 2000-01-01T00:05:00Z: no capacity"
	inWorld(t, func(w *world) {
		w.waiting(1, "train", "alpha-a3-0")
		w.synced()
		require.Contains(w, w.slurm.comment(1), "waiting")

		release := w.takes() // a hook that the daemon did not answer
		w.lock.Sign()
		require.NoError(w, w.slurm.SetAdminComment(w.Context(), 1, held))
		require.NoError(w, w.slurm.HoldJob(w.Context(), 1))
		require.NoError(w, w.slurm.Requeue(1))
		release()

		for range 2 {
			w.synced()
			assert.Equal(w, held, w.slurm.comment(1))
		}
		assert.Equal(w, held, w.memory.Told.All()[1])
	})
}

// U3: owners learn the reason before slurmflex acts on their job, unless the action is urgent.
func TestFailedCommentPreventsTheAction(t *testing.T) {
	job := action.OfJob{Job: 1}
	told := action.CommentJob{OfJob: job, Text: "flex-start: why", Why: "why"}
	eachInWorld(t, map[string][]action.Action{
		"urgent":  {told, action.RequeueJob{OfJob: job, Urgent: true}},
		"requeue": {told, action.RequeueJob{OfJob: job, Why: "why"}},
		"return":  {action.ReturnNodes{OfJob: job, Nodes: names("alpha-a3-0"), Reason: "why", Then: action.Hold}},
	}, func(w *world, actions []action.Action) {
		w.oneJob()
		if len(actions) > 1 {
			w.starts()
		}
		state := w.slurm.JobState(1)
		w.slurm.unwritable = errors.New("slurm_update error: Socket timed out")
		failed := w.hands().Work(w.Context(), actions)
		if requeue, is := actions[len(actions)-1].(action.RequeueJob); is && requeue.Urgent {
			assert.Equal(w, 1, failed)
			assert.Equal(w, slurm.JobPending, w.slurm.JobState(1))
			return
		}
		assert.Equal(w, len(actions), failed)
		assert.Empty(w, w.slurm.updated())
		assert.Empty(w, w.slurm.held())
		assert.Equal(w, state, w.slurm.JobState(1))

		time.Sleep(time.Minute)
		w.slurm.unwritable = nil
		assert.Zero(w, w.hands().Work(w.Context(), actions))
		assert.Contains(w, w.slurm.comment(1), "why")
	})
}

// U3: the signal may end the job, and Slurm rejects changes to an ended job.
func TestSentSignalCountsAsSuccess(t *testing.T) {
	inWorld(t, func(w *world) {
		w.slurm.records = map[uint32]slurm.JobRecord{1: {Batch: true, Comment: "slurmflex:signal"}}
		w.oneJob()
		w.starts()
		w.slurm.unwritable = errors.New("Job has already finished")
		assert.Zero(w, w.hands().Work(w.Context(), []action.Action{action.SignalJob{OfJob: action.OfJob{Job: 1}, Signal: "USR1", Text: "flex-start: sent", Why: "why"}}))
		w.signalledOnce()
		assert.Equal(w, "flex-start: sent", w.memory.Told.All()[1], "it is sent once")
	})
}

// Slurm may start another job on the nodes of a cancelled one, and power_down_force would end it.
func TestNodesOfACancelledJobAreClosedBeforeItIsCancelled(t *testing.T) {
	inWorld(t, func(w *world) {
		w.waiting(1, "shared", "alpha-a3-0")
		w.slurm.submit(2, "shared", "alpha-a3-0")
		w.slurm.updates = nil
		cancel := func(job uint32, nodes ...string) error {
			return w.hands().Do(w.Context(), action.ReturnNodes{OfJob: action.OfJob{Job: job}, Nodes: nodes, Reason: "why", Then: action.Cancel})
		}
		require.NoError(w, cancel(2)) // job 1 keeps the node
		require.NoError(w, cancel(1, "alpha-a3-0"))
		assert.Equal(w, []string{"alpha-a3-0 power_down_asap slurmflex: why", "alpha-a3-0 power_down_force slurmflex: why"}, w.slurm.updates)
	})
}

// G7: job 1 or its node has changed since the plan was made.
func TestReturnThatComesTooLateChangesNothing(t *testing.T) {
	type test struct {
		change func(*world)
		says   string
	}
	eachInWorld(t, map[string]test{
		"it has started":           {(*world).starts, "job 1 has started"},
		"it has other nodes":       {func(w *world) { w.slurm.cancel(1); w.slurm.submit(1, "train", "alpha-a3-1") }, "job 1 no longer has alpha-a3-0"},
		"another job has its node": {func(w *world) { w.slurm.submit(2, "shared", "alpha-a3-0") }, "left alone: alpha-a3-0 is job 2's"},
		"it is not requeued any more": {
			func(w *world) { w.slurm.records = map[uint32]slurm.JobRecord{1: {Batch: true}} }, "job 1 keeps its nodes: Slurm would end it",
		},
	}, func(w *world, test test) {
		w.waiting(1, "train", "alpha-a3-0")
		test.change(w)
		jobs, comment := w.slurm.queue(), w.slurm.comment(1)
		w.slurm.updates = nil
		err := w.hands().Do(w.Context(), action.ReturnNodes{OfJob: action.OfJob{Job: 1}, Nodes: names("alpha-a3-0"), Then: action.Hold})
		require.EqualError(w, err, test.says)
		assert.Empty(w, w.slurm.held())
		assert.Empty(w, w.slurm.updates)
		assert.Equal(w, jobs, w.slurm.queue())
		assert.Equal(w, comment, w.slurm.comment(1))
	})
}
