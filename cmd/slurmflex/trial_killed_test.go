package main

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/test/fakegce"
)

// lateClock lags behind the host's clock.
type lateClock struct {
	*fakegce.WallClock
	behind *atomic.Int64
}

func (c lateClock) Now() time.Time { return c.WallClock.Now().Add(-time.Duration(c.behind.Load())) }

// killedTrial runs a trial and kills it at the first matching call. Until then the fake's clock
// lags by ago, so that the trial's resources look that old afterwards.
func (w *world) killedTrial(t *testing.T, ago time.Duration, at func(*http.Request) bool) {
	t.Helper()
	var behind atomic.Int64
	behind.Store(int64(ago)) // the fake's clock is monotonic
	w.cloud = fakegce.New(fakegce.Options{Clock: lateClock{fakegce.NewWallClock(), &behind}})
	_, err := w.cloud.AddTemplate("us-central1", fakegce.FlexTemplate("a3", "a3-highgpu-8g"))
	require.NoError(t, err)
	come, once := make(chan struct{}), sync.Once{}
	w.configure(t, "compute_endpoint: ", "compute_endpoint: ENDPOINT # ")
	w.serve(t, http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if at(r) {
			last := false
			once.Do(func() { last = true })
			if last { // this call never reaches Compute
				_, _ = io.Copy(io.Discard, r.Body) // otherwise the end of the caller is not noticed
				close(come)
				<-r.Context().Done()
				return
			}
		}
		w.cloud.ServeHTTP(out, r)
	}))
	trial := w.flex(t, "trial", "--nodeset", "a3", "--yes")
	require.NoError(t, trial.Start())
	select {
	case <-come:
	case <-time.After(slack):
		require.Fail(t, "the call has not come")
	}
	require.NoError(t, trial.Process.Kill())
	require.Error(t, trial.Wait())
	behind.Store(0)
	require.Len(t, w.cloud.State().Groups, 1)
	w.cloud.ResetCalls()
}

// requestWaits reports whether a call lists the requests of a trial that waits for capacity.
func (w *world) requestWaits(r *http.Request) bool {
	w.cloud.SetCapacity("", "", 0)
	return strings.HasSuffix(r.URL.Path, "/resizeRequests/cancelled/cancel")
}

// D4
func TestGCDeletesResourcesOfAKilledTrial(t *testing.T) {
	for name, at := range map[string]func(*world) func(*http.Request) bool{
		"a request that waits": func(w *world) func(*http.Request) bool { return w.requestWaits },
		"a machine that runs":  func(w *world) func(*http.Request) bool { return w.machineRuns },
		"a workload policy": func(*world) func(*http.Request) bool {
			return func(r *http.Request) bool {
				return r.Method == http.MethodDelete && strings.Contains(r.URL.Path, "/resourcePolicies/")
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.killedTrial(t, 2*time.Hour, at(w))
			group := w.cloud.State().Groups[0].Name
			for _, args := range [][]string{{"status"}, {"trial", "--nodeset", "a3", "--dry-run"}} {
				r := w.flex(t, args...).exits(t, exitDone)
				assert.Contains(t, strings.Join(strings.Fields(r.stdout.String()+r.stderr.String()), " "),
					"group "+group+" in us-central1 was left by a killed trial", "%s", args)
			}
			assert.Contains(t, w.flex(t, "gc", "--dry-run").exits(t, exitDone).stdout.String(), "delete group "+group)
			w.assertUntouched(t)

			w.flex(t, "sync").exits(t, exitDone)
			assert.Empty(t, w.changes(), "a pass only names it")
			w.flex(t, "gc").exits(t, exitDone)
			assert.Empty(t, w.cloud.State().Groups)
			assert.Empty(t, w.cloud.State().Policies)
			assert.Empty(t, w.machines())
			assert.NotContains(t, w.flex(t, "status").exits(t, exitDone).stdout.String(), "trial")
		})
	}
}

func TestDownDeletesResourcesOfAKilledTrial(t *testing.T) {
	w := newWorld(t)
	w.killedTrial(t, 2*time.Hour, w.requestWaits)
	w.flex(t, "down", "--yes").exits(t, exitDone)
	assert.Empty(t, w.cloud.State().Groups)
}

func TestTrialThatMayStillRunIsLeftAlone(t *testing.T) {
	w := newWorld(t)
	w.killedTrial(t, 50*time.Minute, w.requestWaits)
	w.flex(t, "gc").exits(t, exitDone)
	assert.Empty(t, w.changes())
	assert.NotContains(t, w.flex(t, "status").exits(t, exitDone).stdout.String(), "trial")
	dry := w.flex(t, "trial", "--nodeset", "a3", "--dry-run").exits(t, exitDone)
	assert.Contains(t, dry.stderr.String(), "because its trial may still be running\n")
	r := w.flex(t, "down", "--yes").exits(t, exitFailed)
	assert.Contains(t, r.stdout.String(), "stays, because its trial may still be running\n")
	assert.Len(t, w.cloud.State().Groups, 1)
}
