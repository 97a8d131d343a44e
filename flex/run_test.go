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
	ctx, cancel := context.WithCancel(w.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.Reconciler.Run(ctx, w.lock, wakeUps) }()
	return func() time.Duration {
		begun := time.Now()
		cancel()
		require.NoError(w, <-ended)
		return time.Since(begun)
	}
}

// locked reports whether a pass would have to wait.
func (w *world) locked() bool {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), time.Second)
	defer cancel()
	release, err := w.lock.Take(ctx, false)
	if errors.Is(err, context.DeadlineExceeded) {
		return true
	}
	require.NoError(w, err)
	release()
	return false
}

func TestDaemon(t *testing.T) {
	eachStory(t, map[string]func(*world){
		"an action that ends between passes is continued at once": func(w *world) {
			h := hang(w, "alpha-a3-job-1")
			w.oneJob()
			defer w.daemon(nil)()
			time.Sleep(time.Minute) // by now passes wait ten seconds, and the call returns after five
			before := len(w.slurm.passes())
			for seen := before; before == seen; before = len(w.slurm.passes()) {
				time.Sleep(100 * time.Millisecond)
			}
			time.Sleep(patience + time.Second)
			close(h.let)
			time.Sleep(1100 * time.Millisecond) // for an operation
			assert.Len(w, w.slurm.passes(), before+1)
		},
		"the lock is held while anything is in flight": func(w *world) {
			w.soldOut()
			h := hang(w, "alpha-a3-job-1")
			hang(w, "alpha-a3-job-2")
			w.oneJob()
			stop := w.daemon(nil)
			time.Sleep(time.Minute)
			assert.Greater(w, len(w.slurm.passes()), 3, "passes continue beside it")
			assert.True(w, w.locked())

			close(h.let)
			time.Sleep(20 * time.Second)
			assert.False(w, w.locked())
			assert.Equal(w, map[string]int{"alpha-a3-job-1": 1}, h.begun())

			w.slurm.submit(2, "train", "alpha-a3-1")
			time.Sleep(time.Minute)
			require.True(w, w.locked())
			stop()
			assert.False(w, w.locked(), "run has ended")
		},
		"a long outage ends within a minute of slurmctld's return, without a hook": func(w *world) {
			w.slurm.Down(errors.New("Unable to contact slurm controller"))
			stop := w.daemon(nil)
			time.Sleep(20 * time.Minute)
			w.slurm.Up()
			time.Sleep(time.Minute)
			stop()
			assert.Contains(w, fmt.Sprint(w.log.All()), "reconciling again")
		},
		"an outage is a line of the log for each reason, and a wake-up ends it": func(w *world) {
			wakeUps := make(chan wake.Call)
			w.slurm.Down(errors.New("Unable to contact slurm controller"))
			stop := w.daemon(wakeUps)
			time.Sleep(2 * time.Hour)
			assert.InDelta(w, 130, len(w.slurm.passes()), 15, "30 s and then every minute")
			assert.False(w, w.locked(), "the lock is free between passes")
			w.slurm.Down(errors.New("Invalid user id"))
			time.Sleep(time.Hour)

			w.slurm.Up()
			before := len(w.slurm.passes())
			wakeUps <- wake.Call{Verb: "resume"}
			time.Sleep(time.Second)
			assert.Len(w, w.slurm.passes(), before+1)
			stop()
			var lines []string
			for _, e := range w.log.All() {
				lines = append(lines, e.Message)
			}
			assert.Equal(w, []string{"cannot reconcile", "cannot reconcile", "wake-up", "reconciling again"}, lines)
		},
	})
}

func TestTurnStartsActionsNowAndThenWhileAnotherWaits(t *testing.T) {
	inWorld(t, func(w *world) {
		turn, begun := turn{lock: w.lock, taken: func() {}}, time.Now()
		limited := func(after time.Duration) bool {
			only, err := turn.take(w.Context(), begun.Add(after))
			require.NoError(w, err)
			return only != nil
		}
		assert.False(w, limited(0), "it has just begun")
		assert.False(w, limited(time.Minute), "nobody waits")
		w.queued()
		assert.True(w, limited(2*time.Minute))
		assert.True(w, limited(4*time.Minute))
		assert.False(w, limited(5*time.Minute))
		assert.True(w, limited(6*time.Minute))
		turn.end()
		time.Sleep(time.Second)
		assert.False(w, limited(7*time.Minute), "the other has had its turn")
		assert.False(w, limited(8*time.Minute))
		turn.end()
	})
}

// Their owners would otherwise read that the request is being created.
func TestNodesOfAPassWithoutRequestsHaveTheReason(t *testing.T) {
	asks := plan.Plan{
		Actions: []action.Action{action.CreateRequest{Spec: mig.RequestSpec{Instances: names("alpha-a3-0")}}, action.SignalJob{}},
		Waits:   []demand.Wait{{Nodes: names("alpha-a3-0"), Stage: demand.Requesting}, {Nodes: names("alpha-a3-1"), Stage: demand.Requesting}},
	}
	p := onlyInSlurm(asks)
	assert.Equal(t, []action.Action{action.SignalJob{}}, p.Actions)
	assert.Equal(t, []demand.Wait{
		{Nodes: names("alpha-a3-0"), Stage: demand.Waiting, Obstacle: "another slurmflex process acts first"},
		{Nodes: names("alpha-a3-1"), Stage: demand.Requesting},
	}, p.Waits)
	assert.Equal(t, demand.Requesting, asks.Waits[0].Stage)
}

func TestRunStopsImmediatelyInAnyState(t *testing.T) {
	eachInWorld(t, map[string]func(*world){
		"while something hangs":           func(w *world) { hang(w, "alpha-a3-job-1"); w.oneJob() },
		"without a lock":                  func(w *world) { w.lock.Dir = filepath.Join(w.TempDir(), "none") },
		"waiting for its turn":            func(w *world) { w.taken() },
		"where another process is queued": func(w *world) { w.taken(); w.queued() },
	}, func(w *world, arrive func(*world)) {
		arrive(w)
		stop := w.daemon(nil)
		time.Sleep(10 * time.Minute)
		assert.Zero(w, stop())
	})
}

// taken makes another process hold the lock until the test ends.
func (w *world) taken() {
	w.Helper()
	w.Cleanup(w.takes())
}

// takes takes the lock as another process does.
func (w *world) takes() (release func()) {
	w.Helper()
	release, err := w.lock.Take(w.Context(), false)
	require.NoError(w, err)
	return release
}

// queued makes another process wait for the lock until the test ends.
func (w *world) queued() {
	go func() {
		if release, err := w.lock.Take(w.Context(), false); err == nil {
			release() // the waiter may get the lock after the test
		}
	}()
	synctest.Wait()
}

func TestSettle(t *testing.T) {
	eachStory(t, map[string]func(*world){
		"ends when no change is expected": func(w *world) {
			begun := time.Now()
			require.NoError(w, w.Settle(w.Context(), w.lock, 5*time.Minute))
			assert.Zero(w, time.Since(begun), "no work remains")
			assert.Len(w, w.slurm.passes(), 1)

			w.running(1, "train", "alpha-a3-0")
			w.slurm.cancel(1)
			require.NoError(w, w.Settle(w.Context(), w.lock, 5*time.Minute))
			assert.Empty(w, w.owned(), "machines, then group")
			assert.False(w, w.locked())
		},
		"leaves the pass to the one that is queued": func(w *world) {
			w.taken()
			w.queued()
			begun := time.Now()
			require.NoError(w, w.Settle(w.Context(), w.lock, time.Minute))
			assert.Zero(w, time.Since(begun))
			assert.Empty(w, w.slurm.passes())
		},
	})
}

// Without a daemon, a resume's pass and a gc wait for cron's pass; gc requests nothing.
func TestPassOfAHookIsNotLeftToAGC(t *testing.T) {
	inWorld(t, func(w *world) {
		release := w.takes()
		done := make(chan error)
		other := w.Reconciler
		w.begin() // another process
		go func() { _, err := other.Sync(w.Context(), w.lock, OnlyCollect); done <- err }()
		time.Sleep(time.Second)
		w.oneJob()
		go func() { done <- w.Settle(w.Context(), w.lock, 5*time.Minute) }()
		time.Sleep(time.Second)
		release()
		require.NoError(w, <-done)
		require.NoError(w, <-done)
		assert.Contains(w, w.owned(), "group alpha-a3-job-1 in us-central1 of size 1")
	})
}

func TestSyncRetriesFailedActions(t *testing.T) {
	for times, want := range map[int]struct{ passes, failed int }{1: {2, 0}, 99: {3, 2}} {
		inWorld(t, func(w *world) {
			w.fault(fakegce.Fault{Method: createsGroup, Status: http.StatusConflict, Reason: "resourceNotReady", Times: times})
			w.oneJob()
			assert.Equal(w, want.failed, w.synced().Failed)
			assert.Len(w, w.slurm.passes(), want.passes)
			assert.False(w, w.locked())
		})
	}
}

func TestSyncKeepsItsOutcomeIfItCannotRetry(t *testing.T) {
	inWorld(t, func(w *world) {
		w.fault(fakegce.Fault{Method: createsGroup, Status: http.StatusConflict, Reason: "resourceNotReady"})
		w.oneJob()
		gone := errors.New("Unable to contact slurm controller")
		time.AfterFunc(soonest/2, func() { w.slurm.Down(gone) })
		out, err := w.Sync(w.Context(), w.lock)
		require.ErrorIs(w, err, gone)
		assert.NotZero(w, out.Failed)
		assert.NotEmpty(w, out.Plan.Actions)
	})
}

func TestPaceFollowsExpectedChangesAndFailures(t *testing.T) {
	p := pace{interval: 30 * time.Second, jitter: func(d time.Duration) time.Duration { return d }}
	next := func(times int, err error, soon bool) (waits []float64) {
		for range times {
			waits = append(waits, p.next(err, soon).Seconds())
		}
		return waits
	}
	assert.Equal(t, []float64{.5, 1, 2, 4, 8, 10, 10}, next(7, nil, true))
	p.hurry()
	assert.Equal(t, []float64{.5}, next(1, nil, true), "a wake-up starts over")
	assert.Equal(t, []float64{10}, next(1, leader.ErrQueued, false), "another process makes this pass")
	assert.Equal(t, []float64{1}, next(1, nil, true), "and the pauses do not start over")
	assert.Equal(t, []float64{30}, next(1, leader.ErrStandby, false))
	down := errors.New("no answer")
	assert.Equal(t, []float64{30, 60, 60}, next(3, down, false))
	assert.Equal(t, []float64{30}, next(1, nil, false), "as ever once it can be read")
	assert.Equal(t, []float64{30}, next(1, down, false), "the next failure is the first")
	p.interval = time.Hour
	assert.Equal(t, []float64{3600, 3600}, next(2, down, false))
	p.interval = 5 * time.Second
	assert.Equal(t, []float64{.5, 1, 2, 4, 5, 5}, next(6, nil, true), "never more rarely than the interval")
}
