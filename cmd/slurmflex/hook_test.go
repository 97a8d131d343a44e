package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"slurmflex/flex/wake"
)

// hook prepares a call by slurmctld.
func (w *world) hook(t *testing.T, verb, nodes string, env ...string) *process {
	t.Helper()
	r := w.flex(t, verb, nodes)
	r.Env = append(r.Env, env...)
	return r
}

// requireAsked asserts that job 812's machines were requested exactly once.
func (w *world) requireAsked(t *testing.T) {
	t.Helper()
	require.Equal(t, []string{"regionInstanceGroupManagers.insert", "regionInstanceGroupManagerResizeRequests.insert"}, w.changes())
	g, ok := w.cloud.State().Group("alpha-a3-job-812")
	require.True(t, ok)
	require.Len(t, g.Requests, 1)
	assert.Equal(t, "a1", g.Requests[0].Name)
	assert.Equal(t, []string{"alpha-a3-0", "alpha-a3-1"}, g.Requests[0].Instances)
	assert.Equal(t, "2h10m0s", g.Requests[0].Duration.String())
}

func TestResumeWithoutADaemonStartsAPass(t *testing.T) {
	w := newWorld(t)
	w.waiting(t)
	r := w.hook(t, "resume", "alpha-a3-[0-1]", w.resumeFile(t)).exits(t, exitDone)
	r.saysNothing(t)
	r.settle(t)
	w.requireAsked(t)
	assert.Empty(t, w.log(t, "warn"))
	assert.Empty(t, w.log(t, "error"))

	first := w.calls(t)[0]
	assert.Equal(t, first.caller, first.session, "the pass leads its own session")
	assert.NotEqual(t, strconv.Itoa(r.Process.Pid), first.caller, "it is not the hook")
	assert.Equal(t, w.path("slurm.conf"), first.conf)
}

func TestRelativeConfigurationPathWorksForThePass(t *testing.T) {
	w := newWorld(t)
	w.waiting(t)
	r := prepare(t, w.env(w.resumeFile(t)), os.Args[0], "resume", "--config", "config.yaml", "alpha-a3-[0-1]")
	r.Dir = w.dir
	r.exits(t, exitDone).settle(t)
	w.requireAsked(t)
}

func TestPassContinuesWithoutALogFile(t *testing.T) {
	w := newWorld(t)
	w.waiting(t)
	require.NoError(t, os.Remove(w.path("log")))
	r := w.hook(t, "resume", "alpha-a3-[0-1]", w.resumeFile(t)).exits(t, exitDone)
	r.complains(t, "open log", "slurmflex.log: no such file or directory", "create its folder")
	r.settle(t)
	w.requireAsked(t)
}

func TestPassLogsItsFailureOnceAsJSON(t *testing.T) {
	w := newWorld(t)
	w.waiting(t)
	w.answer(t, "scontrol", "echo 'scontrol: error: slurmctld is on fire' >&2; exit 1")
	w.hook(t, "resume", "alpha-a3-[0-1]", w.resumeFile(t)).exits(t, exitDone).settle(t)
	errs := w.log(t, "error")
	require.Len(t, errs, 1)
	assert.Contains(t, errs[0], "read slurm.conf: scontrol show config: slurmctld is on fire")
	assert.Empty(t, w.changes())
}

// listen starts a daemon that only accepts wake-ups.
func (w *world) listen(t *testing.T) <-chan wake.Call {
	t.Helper()
	wakeUps, err := wake.Listen(t.Context(), wake.SocketPath(w.path("run")), "alpha", zap.NewNop())
	require.NoError(t, err)
	return wakeUps
}

// handedOver runs a hook in a world with a daemon that only accepts wake-ups, and asserts that the
// hook prints nothing. On a busy machine the daemon may be late. Then the hook starts a pass with a
// warning, and handedOver tries again in a new world.
func handedOver(t *testing.T, hook func(w *world) *process) (*world, <-chan wake.Call) {
	t.Helper()
	for begun := time.Now(); ; {
		w := newWorld(t)
		wakeUps := w.listen(t)
		r := hook(w).exits(t, exitDone)
		r.saysNothing(t)
		r.settle(t)
		late := w.log(t, "warn")
		if len(late) == 0 {
			return w, wakeUps
		}
		require.Less(t, time.Since(begun), slack, "the daemon is late each time: %s", late)
	}
}

func TestHookOnlyHandsOverToADaemon(t *testing.T) {
	for verb, jobs := range map[string][]uint32{"resume": {812}, "suspend": nil, "resume-fail": nil} {
		t.Run(verb, func(t *testing.T) {
			w, wakeUps := handedOver(t, func(w *world) *process {
				env := []string{}
				if verb == "resume" {
					env = append(env, w.resumeFile(t))
				}
				return w.hook(t, verb, "alpha-a3-[0-1]", env...)
			})
			require.Len(t, wakeUps, 1)
			assert.Equal(t, wake.Call{Cluster: "alpha", Verb: verb, Nodes: "alpha-a3-[0-1]", Jobs: jobs}, <-wakeUps)
			assert.Empty(t, w.calls(t), "no pass started")
			assert.Empty(t, w.cloud.Calls())
		})
	}
}

func TestDeadDaemonsSocketDoesNotStopAHook(t *testing.T) {
	w := newWorld(t)
	w.waiting(t)
	socket, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	require.NoError(t, err)
	require.NoError(t, unix.Bind(socket, &unix.SockaddrUnix{Name: wake.SocketPath(w.path("run"))}))
	require.NoError(t, unix.Close(socket))
	require.NoError(t, os.Chmod(wake.SocketPath(w.path("run")), 0o600))
	w.hook(t, "resume", "alpha-a3-[0-1]", w.resumeFile(t)).exits(t, exitDone).settle(t)
	w.requireAsked(t)
	require.Len(t, w.log(t, "warn"), 1)
	assert.Contains(t, w.log(t, "warn")[0], "daemon not reachable")
}

func TestUnreadableResumeFileIsOneWarning(t *testing.T) {
	for name, c := range map[string]struct{ content, says string }{
		"not named": {"", "SLURM_RESUME_FILE is not set"},
		"cut off":   {`{"jobs":[{"job_id":812,"nodes_al`, "unexpected end of JSON input"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.waiting(t)
			r := w.hook(t, "resume", "alpha-a3-[0-1]")
			if c.content != "" {
				r.Env = append(r.Env, "SLURM_RESUME_FILE="+w.path("resume.json"))
				w.write(t, "resume.json", c.content)
			}
			r.exits(t, exitDone).saysNothing(t)
			r.settle(t)
			w.requireAsked(t)
			require.Len(t, w.log(t, "warn"), 1)
			assert.Contains(t, w.log(t, "warn")[0], c.says)
		})
	}
}

// C15: the named file is endless, is a pipe without a writer, or has an implausible size; the call
// is still served.
func TestResumeFileThatIsNotRegularIsRejectedImmediately(t *testing.T) {
	for name, c := range map[string]struct {
		lay  func(t *testing.T, path string)
		says string
	}{
		"a device": {func(t *testing.T, path string) { require.NoError(t, os.Symlink("/dev/zero", path)) }, "is not a regular file"},
		"a pipe":   {func(t *testing.T, path string) { require.NoError(t, unix.Mkfifo(path, 0o600)) }, "is not a regular file"},
		"a folder": {func(t *testing.T, path string) { require.NoError(t, os.Mkdir(path, 0o700)) }, "is a directory"},
		"a huge file": {func(t *testing.T, path string) {
			require.NoError(t, os.WriteFile(path, nil, 0o600))
			require.NoError(t, os.Truncate(path, 10<<30))
		}, "larger than 32 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.waiting(t)
			c.lay(t, w.path("resume.json"))
			w.hook(t, "resume", "alpha-a3-[0-1]", "SLURM_RESUME_FILE="+w.path("resume.json")).exits(t, exitDone).settle(t)
			w.requireAsked(t)
			require.Len(t, w.log(t, "warn"), 1)
			assert.Contains(t, w.log(t, "warn")[0], c.says)
		})
	}
}

// C16: a log file that is a symbolic link may lead to another file, which must not be changed.
func TestLogFileIsNotOpenedThroughALink(t *testing.T) {
	w := newWorld(t)
	w.write(t, "precious", "")
	require.NoError(t, os.Symlink(w.path("precious"), w.path("log/slurmflex.log")))
	r := w.hook(t, "suspend", "").exits(t, exitUsage)
	assert.Contains(t, r.stderr.String(), "open log: open "+w.path("log/slurmflex.log")+": too many levels of symbolic links")
	text, err := os.ReadFile(w.path("precious"))
	require.NoError(t, err)
	assert.Empty(t, text)
}

func TestEmptyHostlistIsWrongUsage(t *testing.T) {
	for hostlist, says := range map[string]string{
		"alpha-a3-[0-1": "alpha-a3-[0-1",
		"alpha-a3-[x]":  "alpha-a3-[x]",
		"":              "no nodes",
	} {
		t.Run(hostlist, func(t *testing.T) {
			w := newWorld(t)
			r := w.hook(t, "suspend", hostlist).exits(t, exitUsage)
			r.complains(t, says)
			assert.Len(t, w.log(t, "error"), 1)
			assert.Empty(t, w.calls(t))
		})
	}
}

func TestNodesAreReturnedIfNeitherDaemonNorPassCanRun(t *testing.T) {
	w := newWorld(t)
	require.NoError(t, os.Remove(w.path("run")))
	w.waiting(t)
	why := w.path("run") + ": no such file or directory"
	r := w.hook(t, "resume", "alpha-a3-[0-1]", w.resumeFile(t)).exits(t, exitFailed)
	r.complains(t, "resume alpha-a3-[0-1]: daemon not reachable", why, "create folder "+w.path("run"), "set slurmflex.run_dir")
	r.settle(t)
	require.Len(t, w.updates(t), 1)
	assert.Contains(t, w.updates(t)[0], "nodename=alpha-a3-[0-1] state=power_down_force reason=slurmflex: lstat "+why)
	require.Len(t, w.log(t, "error"), 1)
	assert.Contains(t, w.log(t, "error")[0], why)
	require.Len(t, w.log(t, "warn"), 1)
	assert.Contains(t, w.log(t, "warn")[0], "returned to Slurm")
	assert.Empty(t, w.cloud.Calls())
}

// A2: a late or manual call for nodes with running jobs takes no nodes away from these jobs, even
// if the nodes cannot be read.
func TestFailedResumePowersDownOnlyNodesWithoutJobs(t *testing.T) {
	const call = "alpha-a3-[0-4]"
	for name, c := range map[string]struct {
		given func(t *testing.T, w *world)
		back  string // the nodes that are returned to Slurm; empty: none
		fails string
	}{
		"jobs run on some": {func(t *testing.T, w *world) {
			w.nodes(t, "ALLOCATED+CLOUD", 2, 3)
			w.jobs(t, "812 2:00:00 CONFIGURING alpha-a3-[0-1]", "813 2:00:00 RUNNING alpha-a3-[2-3]")
		}, "alpha-a3-[0-1]", ""},
		"a job has just started on one that still shows POWERING_UP": {func(t *testing.T, w *world) {
			w.jobs(t, "812 2:00:00 CONFIGURING alpha-a3-0", "813 2:00:00 RUNNING alpha-a3-1")
		}, "alpha-a3-0", ""},
		"no node powers up":       {func(t *testing.T, w *world) { w.nodes(t, "ALLOCATED+CLOUD", 0, 1) }, "", ""},
		"Slurm would end the job": {func(t *testing.T, w *world) { w.losing(t) }, "", ""},
		"the nodes cannot be read": {func(t *testing.T, w *world) {
			w.answer(t, "scontrol", `case "$*" in *"show nodes") echo "slurm_load_node error: Unable to contact slurm controller" >&2; exit 1 ;; esac
`+knowing)
		}, "", "read nodes: scontrol -a -o show nodes: Unable to contact slurm controller"},
		"the jobs cannot be read": {func(t *testing.T, w *world) {
			w.answer(t, "squeue", `echo "slurm_load_jobs error: Unable to contact slurm controller" >&2; exit 1`)
		}, "", "read jobs: squeue"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			require.NoError(t, os.Remove(w.path("run")))
			w.waiting(t)
			c.given(t, w)
			r := w.hook(t, "resume", call, w.resumeFile(t)).exits(t, exitFailed)
			r.complains(t, "resume "+call+": daemon not reachable", c.fails)
			if c.back == "" {
				assert.Empty(t, w.updates(t))
				return
			}
			require.Len(t, w.updates(t), 1)
			assert.Contains(t, w.updates(t)[0], "nodename="+c.back+" state=power_down_force")
			assert.Contains(t, w.log(t, "warn")[0], `"returned":"`+c.back+`"`)
		})
	}
}

func TestFailedReturnOfNodesIsReportedWithSlurmsError(t *testing.T) {
	w := newWorld(t)
	require.NoError(t, os.Remove(w.path("run")))
	w.waiting(t)
	w.answer(t, "scontrol", `case "$*" in update*) echo 'slurm_update error: Access/permission denied' >&2; exit 1 ;; esac
`+knowing)
	r := w.hook(t, "resume", "alpha-a3-[0-1]", w.resumeFile(t)).exits(t, exitFailed)
	r.complains(t, "daemon not reachable", "Access/permission denied")
	require.Len(t, w.log(t, "error"), 2)
	assert.Contains(t, w.log(t, "error")[1], "Access/permission denied")
}

func TestSuspendThatCannotBeHandedOverLeavesSlurmAlone(t *testing.T) {
	w := newWorld(t)
	require.NoError(t, os.Remove(w.path("run")))
	r := w.hook(t, "suspend", "alpha-a3-[0-1]").exits(t, exitFailed)
	r.complains(t, "suspend alpha-a3-[0-1]: daemon not reachable", "no such file or directory")
	assert.Len(t, w.log(t, "error"), 1)
	assert.Empty(t, w.calls(t))
}

func TestSlurmflexHookNeedsNoOpenFilesAndNoEnvironment(t *testing.T) {
	w := newWorld(t)
	w.waiting(t)
	r := prepare(t, w.env(w.resumeFile(t)), "/bin/sh", "-c", `exec "$0" "$@" <&- >&- 2>&-`,
		os.Args[0], "--config", w.path("config.yaml"), "resume", "alpha-a3-[0-1]")
	r.Dir = w.path("log")
	r.exits(t, exitDone).settle(t)
	w.requireAsked(t)
	assert.Empty(t, w.log(t, "warn"))
	files, err := filepath.Glob(w.path("log/*"))
	require.NoError(t, err)
	assert.Equal(t, []string{w.path("log/slurmflex.log")}, files, "nothing else is written where it runs")
}

// startBlocked starts a program as Slurm 22.05 does: with blocked signals.
func startBlocked(t *testing.T, r *process) {
	t.Helper()
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with its signal mask
		some := unix.Sigset_t{}
		for _, s := range []syscall.Signal{unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGUSR1, unix.SIGTERM} {
			some.Val[0] |= 1 << (s - 1)
		}
		if err := unix.PthreadSigmask(unix.SIG_BLOCK, &some, nil); err != nil {
			started <- err
			return
		}
		started <- r.Start()
	}()
	require.NoError(t, <-started)
}
