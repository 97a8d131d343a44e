package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"slurmflex/flex/wake"
	"slurmflex/test/must"
)

// hook prepares a call by slurmctld.
func (w *world) hook(verb, nodes string, env ...string) *process {
	w.Helper()
	r := w.flex(verb, nodes)
	r.Env = append(r.Env, env...)
	return r
}

// resume prepares a call of the ResumeProgram for job 812.
func (w *world) resume(nodes string, env ...string) *process {
	w.Helper()
	return w.hook("resume", nodes, append(env, w.resumeFile())...)
}

// requireAsked asserts that job 812's machines were requested exactly once.
func (w *world) requireAsked() {
	w.Helper()
	require.Equal(w, []string{"regionInstanceGroupManagers.insert", "regionInstanceGroupManagerResizeRequests.insert"}, w.changes())
	g, ok := w.cloud.State().Group("alpha-a3-job-812")
	require.True(w, ok)
	require.Len(w, g.Requests, 1)
	assert.Equal(w, "a1", g.Requests[0].Name)
	assert.Equal(w, []string{"alpha-a3-0", "alpha-a3-1"}, g.Requests[0].Instances)
	assert.Equal(w, "2h10m0s", g.Requests[0].Duration.String())
}

func TestResumeWithoutADaemonStartsAPass(t *testing.T) {
	w := newWorld(t)
	w.waiting()
	r := w.resume("alpha-a3-[0-1]").exits(exitDone)
	r.saysNothing()
	r.settle()
	w.requireAsked()
	assert.Empty(t, w.log("warn"))
	assert.Empty(t, w.log("error"))

	first := w.calls()[0]
	assert.Equal(t, first.caller, first.session, "the pass leads its own session")
	assert.NotEqual(t, strconv.Itoa(r.Process.Pid), first.caller, "it is not the hook")
	assert.Equal(t, w.path("slurm.conf"), first.conf)
}

func TestRelativeConfigurationPathWorksForThePass(t *testing.T) {
	w := newWorld(t)
	w.waiting()
	r := prepare(t, w.env(w.resumeFile()), os.Args[0], "resume", "--config", "config.yaml", "alpha-a3-[0-1]")
	r.Dir = w.dir
	r.exits(exitDone).settle()
	w.requireAsked()
}

// listen starts a daemon that only accepts wake-ups.
func (w *world) listen() <-chan wake.Call {
	w.Helper()
	wakeUps, err := wake.Listen(w.Context(), wake.SocketPath(w.path("run")), "alpha", zap.NewNop())
	require.NoError(w, err)
	return wakeUps
}

// handedOver runs a hook in a world with a daemon that only accepts wake-ups, and asserts that the
// hook prints nothing. On a busy machine the daemon may be late. Then the hook starts a pass with a
// warning, and handedOver tries again in a new world.
func handedOver(t *testing.T, hook func(w *world) *process) (*world, <-chan wake.Call) {
	t.Helper()
	for begun := time.Now(); ; {
		w := newWorld(t)
		wakeUps := w.listen()
		r := hook(w).exits(exitDone)
		r.saysNothing()
		r.settle()
		late := w.log("warn")
		if len(late) == 0 {
			return w, wakeUps
		}
		require.Less(t, time.Since(begun), slack, "the daemon is late each time: %s", late)
	}
}

// C16: a log file that is a symbolic link may lead to another file, which must not be changed.
func TestLogFileIsNotOpenedThroughALink(t *testing.T) {
	w := newWorld(t)
	w.write("precious", "")
	require.NoError(t, os.Symlink(w.path("precious"), w.path("log/slurmflex.log")))
	w.hook("suspend", "").exits(exitUsage).reports("open log: open " + w.path("log/slurmflex.log") + ": too many levels of symbolic links")
	assert.Empty(t, must.Text(w.path("precious")))
}

func TestNodesAreReturnedIfNeitherDaemonNorPassCanRun(t *testing.T) {
	w := newWorld(t)
	w.remove("run")
	w.waiting()
	why := w.path("run") + ": no such file or directory"
	r := w.resume("alpha-a3-[0-1]").exits(exitFailed)
	r.complains("resume alpha-a3-[0-1]: daemon not reachable", why, "create folder "+w.path("run"), "set slurmflex.run_dir")
	r.settle()
	require.Len(t, w.updates(), 1)
	assert.Contains(t, w.updates()[0], "nodename=alpha-a3-[0-1] state=power_down_force reason=slurmflex: lstat "+why)
	w.logged("error", why)
	w.logged("warn", "returned to Slurm")
	assert.Empty(t, w.cloud.Calls())
}

func TestSlurmflexHookNeedsNoOpenFilesAndNoEnvironment(t *testing.T) {
	w := newWorld(t)
	w.waiting()
	r := prepare(t, w.env(w.resumeFile()), "/bin/sh", "-c", `exec "$0" "$@" <&- >&- 2>&-`,
		os.Args[0], "--config", w.path("config.yaml"), "resume", "alpha-a3-[0-1]")
	r.Dir = w.path("log")
	r.exits(exitDone).settle()
	w.requireAsked()
	assert.Empty(t, w.log("warn"))
	assert.Equal(t, []string{w.path("log/slurmflex.log")}, must.Get(filepath.Glob(w.path("log/*"))), "nothing else is written where it runs")
}

// slurmMask is the signal mask with which Slurm 22.05 starts a ResumeProgram. Go's runtime unblocks
// those of its signals that end a program, such as TERM, but no others.
const slurmMask = 0x887a27

// startBlocked starts a program as Slurm 22.05 does: with blocked signals.
func startBlocked(t *testing.T, r *process) {
	t.Helper()
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with its signal mask
		if err := unix.PthreadSigmask(unix.SIG_SETMASK, &unix.Sigset_t{Val: [16]uint64{slurmMask}}, nil); err != nil {
			started <- err
			return
		}
		started <- r.Start()
	}()
	require.NoError(t, <-started)
}
