package flex

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap/zapcore"

	"slurmflex/flex/apply"
	"slurmflex/flex/leader"
	"slurmflex/flex/plan"
	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/demand"
	"slurmflex/flex/wake"
	"slurmflex/mig"
	"slurmflex/test/fakegce"
)

// daemon makes passes in the background until stop is called. stop waits for the end and returns
// how long that took.
func (w *world) daemon(wakeUps <-chan wake.Call) (stop func() time.Duration) {
	ctx, cancel := context.WithCancel(w.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx, w.lock, wakeUps) }()
	return func() time.Duration {
		begun := time.Now()
		cancel()
		require.NoError(w.t, <-ended)
		return time.Since(begun)
	}
}

// locked reports whether a pass would have to wait.
func (w *world) locked() bool {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Second)
	defer cancel()
	release, err := w.lock.Take(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		return true
	}
	require.NoError(w.t, err)
	release()
	return false
}

func TestDaemon(t *testing.T) {
	eachInWorld(t, map[string]func(*testing.T, *world){
		"passes come every interval": func(t *testing.T, w *world) {
			stop := w.daemon(nil)
			time.Sleep(time.Hour)
			stop()
			passes := w.slurm.passes()
			assert.InDelta(t, 133, len(passes), 8)
			for i := range passes[1:] {
				assert.InDelta(t, 27, passes[i+1].Sub(passes[i]).Seconds(), 1.501, "sooner, never later")
			}
		},
		"an action that ends between passes is continued at once": func(t *testing.T, w *world) {
			h := hang(w, "alpha-a3-job-1")
			w.slurm.submit(1, "train", "alpha-a3-0")
			defer w.daemon(nil)()
			time.Sleep(time.Minute) // by now passes wait ten seconds, and the call returns after five
			before := len(w.slurm.passes())
			for seen := before; before == seen; before = len(w.slurm.passes()) {
				time.Sleep(100 * time.Millisecond)
			}
			time.Sleep(patience + time.Second)
			close(h.let)
			time.Sleep(1100 * time.Millisecond) // for an operation
			assert.Len(t, w.slurm.passes(), before+1)
		},
		"a wake-up makes the next pass come at once": func(t *testing.T, w *world) {
			wakeUps := make(chan wake.Call)
			stop := w.daemon(wakeUps)
			synctest.Wait()
			require.Len(t, w.slurm.passes(), 1)

			wakeUps <- wake.Call{Verb: "resume", Nodes: "alpha-a3-0", Jobs: []uint32{812}}
			synctest.Wait()
			passes := w.slurm.passes()
			require.Len(t, passes, 2)
			assert.Equal(t, passes[0], passes[1])
			assert.Equal(t, map[string]any{"verb": "resume", "nodes": "alpha-a3-0", "jobs": []any{uint32(812)}},
				w.log.FilterMessage("wake-up").All()[0].ContextMap())
			assert.Zero(t, stop())
		},
		"a running action is observed again in seconds": func(t *testing.T, w *world) {
			w.slurm.submit(1, "train", "alpha-a3-0")
			stop := w.daemon(nil)
			time.Sleep(5 * time.Second)
			assert.Greater(t, len(w.slurm.passes()), 1)
			time.Sleep(10 * time.Minute) // the job has been running for long
			n := len(w.slurm.passes())
			time.Sleep(10 * time.Minute)
			assert.InDelta(t, 20, len(w.slurm.passes())-n, 3, "only every interval when no change is expected")
			stop()
		},
		"the lock is held while anything is in flight": func(t *testing.T, w *world) {
			w.soldOut()
			h := hang(w, "alpha-a3-job-1")
			w.slurm.submit(1, "train", "alpha-a3-0")
			stop := w.daemon(nil)
			time.Sleep(time.Minute)
			assert.Greater(t, len(w.slurm.passes()), 3, "passes continue beside it")
			assert.True(t, w.locked())

			close(h.let)
			time.Sleep(20 * time.Second)
			assert.False(t, w.locked())
			assert.Equal(t, map[string]int{"alpha-a3-job-1": 1}, h.begun())
			stop()
		},
		"the lock is free when run has ended": func(t *testing.T, w *world) {
			hang(w, "alpha-a3-job-1")
			w.slurm.submit(1, "train", "alpha-a3-0")
			stop := w.daemon(nil)
			time.Sleep(time.Minute)
			require.True(t, w.locked())
			stop()
			assert.False(t, w.locked())
		},
		"an outage is two lines of the log and a wake-up ends the wait": func(t *testing.T, w *world) {
			wakeUps := make(chan wake.Call)
			w.slurm.refuse(errors.New("Unable to contact slurm controller"))
			stop := w.daemon(wakeUps)
			time.Sleep(2 * time.Hour)
			assert.InDelta(t, 30, len(w.slurm.passes()), 4, "30 s, 1, 2, 4 and then every 5 minutes")
			assert.Len(t, w.log.FilterLevelExact(zapcore.ErrorLevel).All(), 1)
			assert.False(t, w.locked(), "the lock is free between passes")

			w.slurm.refuse(nil)
			before := len(w.slurm.passes())
			wakeUps <- wake.Call{Verb: "resume"}
			time.Sleep(time.Second)
			assert.Len(t, w.slurm.passes(), before+1)
			stop()
			var lines []string
			for _, e := range w.log.All() {
				lines = append(lines, e.Message)
			}
			assert.Equal(t, []string{"cannot reconcile", "wake-up", "reconciling again"}, lines)
		},
		"another reason is another line of the log": func(t *testing.T, w *world) {
			w.slurm.refuse(errors.New("no answer within 30s"))
			stop := w.daemon(nil)
			for _, why := range []string{"no answer within 30s", "Invalid user id"} {
				time.Sleep(time.Hour)
				w.slurm.refuse(errors.New(why))
			}
			time.Sleep(time.Hour)
			stop()
			var lines []any
			for _, e := range w.log.FilterMessage("cannot reconcile").All() {
				lines = append(lines, e.ContextMap()["error"])
			}
			assert.Equal(t, []any{"read nodes: no answer within 30s", "read nodes: Invalid user id"}, lines)
		},
	}, func(t *testing.T, w *world, does func(*testing.T, *world)) { does(t, w) })
}

func TestBusyDaemonLetsAnotherProcessHaveItsTurn(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.slurm.cfg.NodeSets[0].DynamicMax = 40
		w.slurm.nodes = newController(w.slurm.cfg).nodes
		w.soldOut()
		defer w.daemon(nil)()
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		go func() { // operations take longer than the time until the next job
			for i := 0; ctx.Err() == nil; i++ {
				w.slurm.submit(uint32(i+1), "train", fmt.Sprintf("alpha-a3-%d", i))
				time.Sleep(20 * time.Second)
			}
		}()
		time.Sleep(time.Minute)
		begun := time.Now()
		require.True(t, w.locked())
		release, err := w.lock.Take(t.Context())
		require.NoError(t, err)
		assert.Less(t, time.Since(begun), apply.Limit)
		assert.Less(t, len(w.cloud.State().Groups), len(w.slurm.queue()))
		release()
		stop()
		time.Sleep(2 * time.Minute)
		assert.Len(t, w.cloud.State().Groups, len(w.slurm.queue()), "those that came meanwhile have theirs, too")
	}, func(o *fakegce.Options) { o.OperationTime = 30 * time.Second })
}

func TestTurnStartsActionsNowAndThenWhileAnotherWaits(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		turn, begun := turn{lock: w.lock}, time.Now()
		limited := func(after time.Duration) bool {
			only, err := turn.take(t.Context(), begun.Add(after))
			require.NoError(t, err)
			return only != nil
		}
		assert.False(t, limited(0), "it has just begun")
		assert.False(t, limited(time.Minute), "nobody waits")
		w.queued(t)
		assert.True(t, limited(2*time.Minute))
		assert.True(t, limited(4*time.Minute))
		assert.False(t, limited(5*time.Minute))
		assert.True(t, limited(6*time.Minute))
		turn.end()
		time.Sleep(time.Second)
		assert.False(t, limited(7*time.Minute), "the other has had its turn")
		assert.False(t, limited(8*time.Minute))
		turn.end()
	})
}

// Their owners would otherwise read that the request is being created.
func TestNodesOfAPassWithoutRequestsHaveTheReason(t *testing.T) {
	asks := plan.Plan{
		Actions: []action.Action{action.CreateRequest{Spec: mig.RequestSpec{Instances: []string{"alpha-a3-0"}}}, action.SignalJob{}},
		Waits:   []demand.Wait{{Nodes: []string{"alpha-a3-0"}, Stage: demand.Requesting}, {Nodes: []string{"alpha-a3-1"}, Stage: demand.Requesting}},
	}
	p := onlyInSlurm(asks)
	assert.Equal(t, []action.Action{action.SignalJob{}}, p.Actions)
	assert.Equal(t, []demand.Wait{
		{Nodes: []string{"alpha-a3-0"}, Stage: demand.Waiting, Obstacle: "another slurmflex process acts first"},
		{Nodes: []string{"alpha-a3-1"}, Stage: demand.Requesting},
	}, p.Waits)
	assert.Equal(t, demand.Requesting, asks.Waits[0].Stage)
}

func TestRunStopsImmediatelyInAnyState(t *testing.T) {
	places := map[string]func(*testing.T, *world){
		"between passes":        func(*testing.T, *world) {},
		"while something hangs": func(_ *testing.T, w *world) { hang(w, "alpha-a3-job-1"); w.slurm.submit(1, "train", "alpha-a3-0") },
		"without a lock":        func(t *testing.T, w *world) { w.lock.Dir = filepath.Join(t.TempDir(), "none") },
		"standing by": func(_ *testing.T, w *world) {
			w.lock.Permission = &leader.Permission{Slurm: &pair{primary: true, backup: true}, Host: "ctl2"}
		},
		"waiting for its turn":            func(t *testing.T, w *world) { w.taken(t) },
		"where another process is queued": func(t *testing.T, w *world) { w.taken(t); w.queued(t) },
	}
	eachInWorld(t, places, func(t *testing.T, w *world, arrive func(*testing.T, *world)) {
		arrive(t, w)
		stop := w.daemon(nil)
		time.Sleep(10 * time.Minute)
		assert.Zero(t, stop())
	})
}

// taken makes another process hold the lock until the test ends.
func (w *world) taken(t *testing.T) {
	t.Helper()
	release, err := w.lock.Take(t.Context())
	require.NoError(t, err)
	t.Cleanup(release)
}

// queued makes another process wait for the lock until the test ends.
func (w *world) queued(t *testing.T) {
	go func() {
		if release, err := w.lock.Take(t.Context()); err == nil {
			release() // the waiter may get the lock after the test
		}
	}()
	synctest.Wait()
}

func TestSettle(t *testing.T) {
	eachInWorld(t, map[string]func(*testing.T, *world){
		"ends when no change is expected": func(t *testing.T, w *world) {
			begun := time.Now()
			require.NoError(t, w.Settle(t.Context(), w.lock, 5*time.Minute))
			assert.Zero(t, time.Since(begun), "no work remains")
			assert.Len(t, w.slurm.passes(), 1)

			w.running(1, "train", "alpha-a3-0")
			w.slurm.cancel(1)
			require.NoError(t, w.Settle(t.Context(), w.lock, 5*time.Minute))
			assert.Empty(t, w.owned(), "machines, then group")
			assert.False(t, w.locked())
		},
		"ends at its limit": func(t *testing.T, w *world) {
			w.fault(fakegce.Fault{Method: "*.insert", Status: http.StatusPreconditionRequired})
			w.slurm.submit(1, "train", "alpha-a3-0")
			begun := time.Now()
			require.NoError(t, w.Settle(t.Context(), w.lock, 30*time.Second))
			assert.Equal(t, 30*time.Second, time.Since(begun))
		},
		"names the reason why it cannot start": func(t *testing.T, w *world) {
			w.slurm.refuse(errors.New("Unable to contact slurm controller"))
			assert.EqualError(t, w.Settle(t.Context(), w.lock, time.Minute), "read nodes: Unable to contact slurm controller")
			w.lock.Dir = filepath.Join(t.TempDir(), "none")
			assert.ErrorContains(t, w.Settle(t.Context(), w.lock, time.Minute), "no such file or directory; create folder")
		},
		"leaves the pass to the one that is queued": func(t *testing.T, w *world) {
			w.taken(t)
			w.queued(t)
			begun := time.Now()
			require.NoError(t, w.Settle(t.Context(), w.lock, time.Minute))
			assert.Zero(t, time.Since(begun))
			assert.Empty(t, w.slurm.passes())
		},
	}, func(t *testing.T, w *world, does func(*testing.T, *world)) { does(t, w) })
}

// Without a daemon, a resume's pass and a gc wait for cron's pass; gc requests nothing.
func TestPassOfAHookIsNotLeftToAGC(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		release, err := w.lock.Take(t.Context())
		require.NoError(t, err)
		done := make(chan error)
		other := w.Reconciler
		w.begin() // another process
		go func() { _, err := other.Sync(t.Context(), w.lock, OnlyCollect); done <- err }()
		time.Sleep(time.Second)
		w.slurm.submit(1, "train", "alpha-a3-0")
		go func() { done <- w.Settle(t.Context(), w.lock, 5*time.Minute) }()
		time.Sleep(time.Second)
		release()
		require.NoError(t, <-done)
		require.NoError(t, <-done)
		assert.Contains(t, w.owned(), "group alpha-a3-job-1 in us-central1 of size 1")
	})
}

func TestSyncRetriesFailedActions(t *testing.T) {
	fault := fakegce.Fault{Method: "regionInstanceGroupManagers.insert", Status: http.StatusConflict, Reason: "resourceNotReady"}
	tests := map[string]struct{ times, passes, failed int }{
		"not at all":  {0, 1, 0},
		"once":        {1, 2, 0},
		"three times": {3, 3, 2},
		"for ever":    {99, 3, 2},
	}
	eachInWorld(t, tests, func(t *testing.T, w *world, test struct{ times, passes, failed int }) {
		w.soldOut()
		if fault.Times = test.times; test.times > 0 {
			w.fault(fault)
		}
		w.slurm.submit(1, "train", "alpha-a3-0")
		out, err := w.Sync(t.Context(), w.lock)
		require.NoError(t, err)
		assert.Equal(t, test.failed, out.Failed)
		assert.Len(t, w.slurm.passes(), test.passes)
		assert.False(t, w.locked())
	})
}

// Another process queues between sync's first pass, where an action failed, and its second.
func TestSyncKeepsItsOutcomeIfAnotherProcessRetries(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.fault(fakegce.Fault{
			Method: "regionInstanceGroupManagers.insert", Status: http.StatusConflict, Reason: "resourceNotReady", Times: 1,
		})
		w.slurm.submit(1, "train", "alpha-a3-0")
		w.slurm.submit(2, "train", "alpha-a3-1")
		go func() {
			for len(w.slurm.passes()) == 0 || w.locked() {
				time.Sleep(10 * time.Millisecond)
			}
			if release, err := w.lock.Take(t.Context()); err == nil {
				t.Cleanup(release)
				w.queued(t)
			}
		}()
		out, err := w.Sync(t.Context(), w.lock)
		require.ErrorIs(t, err, leader.ErrQueued)
		assert.NotZero(t, out.Failed)
		assert.NotEmpty(t, out.Plan.Actions)
	})
}

func TestPassesBackOffWhileSlurmIsUnreadable(t *testing.T) {
	for interval, want := range map[time.Duration][]time.Duration{
		30 * time.Second: {30 * time.Second, time.Minute, 2 * time.Minute, 4 * time.Minute, 5 * time.Minute, 5 * time.Minute},
		time.Second:      {time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second, 32 * time.Second},
		time.Hour:        {time.Hour, time.Hour, time.Hour, time.Hour, time.Hour, time.Hour},
	} {
		p := pace{interval: interval, jitter: func(d time.Duration) time.Duration { return d }}
		var waits []time.Duration
		for range want {
			waits = append(waits, p.next(errors.New("no answer"), false))
		}
		assert.Equal(t, want, waits)
		assert.Equal(t, interval, p.next(nil, false), "as ever once it can be read")
		assert.Equal(t, interval, p.next(errors.New("no answer"), false), "the next failure is the first")
	}
}

func TestPaceFollowsExpectedChanges(t *testing.T) {
	p := pace{interval: 30 * time.Second, jitter: func(d time.Duration) time.Duration { return d }}
	var waits []time.Duration
	for range 7 {
		waits = append(waits, p.next(nil, true))
	}
	assert.Equal(t, []time.Duration{
		500 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 10 * time.Second, 10 * time.Second,
	}, waits)
	p.hurry()
	assert.Equal(t, soonest, p.next(nil, true), "a wake-up starts over")
	assert.Equal(t, latest, p.next(leader.ErrQueued, false), "another process makes this pass")
	assert.Equal(t, 2*soonest, p.next(nil, true), "and the pauses do not start over")
	assert.Equal(t, 30*time.Second, p.next(leader.ErrStandby, false))
	assert.Equal(t, soonest, p.next(nil, true))
	p.interval = 5 * time.Second
	for range 5 {
		p.next(nil, true)
	}
	assert.Equal(t, 5*time.Second, p.next(nil, true), "never more rarely than the interval")
}
