package main

import (
	"net/http"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"slurmflex/test/fakegce"
)

// unread connects a process's whole output to one pipe and returns the pipe's reader.
func (r *process) unread(t *testing.T) *os.File {
	t.Helper()
	reader, writer, err := os.Pipe()
	require.NoError(t, err)
	t.Cleanup(func() { reader.Close(); writer.Close() })
	r.Stdout, r.Stderr = writer, writer
	return reader
}

// halts makes the world's Compute hold the first matching call until goOn is called. reached
// returns when that call has arrived.
func (w *world) halts(t *testing.T, at func(*http.Request) bool) (reached, goOn func()) {
	t.Helper()
	come, on := make(chan struct{}), make(chan struct{})
	var once sync.Once
	w.configure(t, "compute_endpoint: ", "compute_endpoint: ENDPOINT # ")
	w.serve(t, http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if at(r) {
			once.Do(func() { close(come); <-on })
		}
		w.cloud.ServeHTTP(out, r)
	}))
	goOn = sync.OnceFunc(func() { close(on) })
	t.Cleanup(goOn)
	return func() {
		t.Helper()
		select {
		case <-come:
		case <-time.After(slack):
			require.Fail(t, "the call has not come")
		}
	}, goOn
}

// machineRuns reports whether a call lists a running machine.
func (w *world) machineRuns(r *http.Request) bool {
	return strings.HasSuffix(r.URL.Path, "/aggregated/instances") && strings.Contains(strings.Join(w.machines(), ","), " RUNNING")
}

// trialThatNobodyReads starts a trial with a closed output pipe. Its machine runs, and the trial
// waits for goOn.
func (w *world) trialThatNobodyReads(t *testing.T) (trial *process, goOn func()) {
	t.Helper()
	reached, goOn := w.halts(t, w.machineRuns)
	trial = w.flex(t, "trial", "--nodeset", "a3", "--yes")
	reader := trial.unread(t)
	require.NoError(t, trial.Start())
	reached()
	require.NoError(t, reader.Close())
	return trial, goOn
}

// Control-C also ends tee, and a closed terminal accepts no more output: a failed write must not
// end a trial before it has deleted everything.
func TestInterruptedTrialWithClosedOutputCleansUp(t *testing.T) {
	for _, s := range []syscall.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGHUP} {
		t.Run(unix.SignalName(s), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			trial, goOn := w.trialThatNobodyReads(t)
			require.NoError(t, trial.Process.Signal(s))
			goOn()
			trial.exits(t, exitFailed)
			assert.Empty(t, w.cloud.State().Groups)
			assert.Empty(t, w.cloud.State().Policies)
			assert.Empty(t, w.machines())
		})
	}
}

func TestTrialWithUnreadReportFailsAndCleansUp(t *testing.T) {
	w := newWorld(t)
	w.cloud = fakegce.New(fakegce.Options{}) // with a correct clock, all checks pass
	_, err := w.cloud.AddTemplate("us-central1", fakegce.FlexTemplate("a3", "a3-highgpu-8g"))
	require.NoError(t, err)
	trial, goOn := w.trialThatNobodyReads(t)
	goOn()
	trial.exits(t, exitFailed)
	assert.Empty(t, w.cloud.State().Groups)
	assert.Empty(t, w.machines())
}

func TestTrialUnderNohupSurvivesAClosedTerminal(t *testing.T) {
	w := newWorld(t)
	reached, goOn := w.halts(t, w.machineRuns)
	trial := prepare(t, w.env(), "/bin/sh", "-c", `trap "" HUP; exec "$0" "$@"`,
		os.Args[0], "--config", w.path("config.yaml"), "trial", "--nodeset", "a3", "--yes")
	require.NoError(t, trial.Start())
	reached()
	require.NoError(t, trial.Process.Signal(unix.SIGHUP))
	goOn()
	trial.exits(t, exitFailed) // the fake's clock is slow
	assert.NotContains(t, trial.stdout.String()+trial.stderr.String(), "interrupted")
	assert.Contains(t, trial.stdout.String(), " checks passed, 1 failed; left behind: nothing\n")
}

func TestPassWithClosedOutputCompletes(t *testing.T) {
	w := newWorld(t)
	w.left(t)
	gc := w.flex(t, "gc")
	require.NoError(t, gc.unread(t).Close())
	gc.exits(t, exitFailed) // its output is lost
	assert.Empty(t, w.machines())
}

func TestReadOnlyCommandWithClosedOutputEndsQuietly(t *testing.T) {
	w := newWorld(t)
	for _, args := range [][]string{{"status"}, {"trial", "--nodeset", "a3", "--dry-run"}, {"gc", "--dry-run"}} {
		r := w.flex(t, args...)
		reader, writer, err := os.Pipe()
		require.NoError(t, err)
		require.NoError(t, reader.Close())
		r.Stdout = writer
		require.Error(t, r.Run())
		require.NoError(t, writer.Close())
		assert.Equal(t, unix.SIGPIPE, r.ProcessState.Sys().(syscall.WaitStatus).Signal(), "%s", args)
		assert.Empty(t, r.stderr.String(), "%s", args)
	}
}
