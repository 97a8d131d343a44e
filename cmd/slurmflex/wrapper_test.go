package main

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/flex/wake"
)

const scripts = "../../scripts"

// install puts the hooks' wrappers and slurmflex next to the configuration.
func (w *world) install() {
	w.t.Helper()
	b, err := os.ReadFile(filepath.Join(scripts, "resume"))
	require.NoError(w.t, err)
	require.NoError(w.t, os.WriteFile(w.path("resume"), b, 0o755))
	for _, name := range []string{"suspend", "resume-fail"} {
		to, err := os.Readlink(filepath.Join(scripts, name))
		require.NoError(w.t, err)
		require.NoError(w.t, os.Symlink(to, w.path(name)))
	}
	self, err := os.Executable()
	require.NoError(w.t, err)
	require.NoError(w.t, os.Symlink(self, w.path("slurmflex")))
}

// hookProgram builds slurmflex-hook.
func hookProgram(t *testing.T) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "slurmflex-hook")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", path, "../slurmflex-hook")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	return b
}

func TestWrappersUseTheFilesNextToThem(t *testing.T) {
	for _, verb := range []string{"resume", "suspend", "resume-fail"} {
		t.Run(verb, func(t *testing.T) {
			_, wakeUps := handedOver(t, func(w *world) *process {
				w.install()
				r := prepare(t, []string{w.resumeFile()}, w.path(verb), "alpha-a3-[0-1]")
				r.Dir = "/"
				return r
			})
			require.Len(t, wakeUps, 1)
			wakeUp := <-wakeUps
			assert.Equal(t, wake.Call{Cluster: "alpha", Verb: verb, Nodes: "alpha-a3-[0-1]", Jobs: []uint32{812}}, wakeUp)
		})
	}
}

func TestWrapperWithoutNodesIsWrongUsage(t *testing.T) {
	w := newWorld(t)
	w.install()
	prepare(t, nil, w.path("suspend")).exits(exitUsage).complains("no nodes in hostlist")
}

func TestWrapperDefaultsToTheSystemsConfiguration(t *testing.T) {
	if _, err := os.Stat(defaultConfig); err == nil {
		t.Skip(defaultConfig + " exists: this machine runs slurmflex")
	}
	w := newWorld(t)
	w.install()
	require.NoError(t, os.Remove(w.path("config.yaml")))
	prepare(t, nil, w.path("resume"), "alpha-a3-0").exits(exitUsage).complains(defaultConfig, "no such file or directory")
}

func TestWrapperPrefersTheSlimHook(t *testing.T) {
	program := hookProgram(t)
	installed := func(t *testing.T, w *world) {
		t.Helper()
		w.install()
		require.NoError(t, os.WriteFile(w.path("slurmflex-hook"), program, 0o755))
	}
	t.Run("and enough where a daemon runs", func(t *testing.T) {
		w := newWorld(t)
		installed(t, w)
		require.NoError(t, os.Remove(w.path("slurmflex")))
		wakeUps := w.listen()
		for code := -1; code != exitDone; { // a busy machine may delay the daemon
			r := prepare(t, []string{w.resumeFile()}, w.path("resume"), "alpha-a3-[0-1]")
			require.NoError(t, r.Start())
			_ = r.Wait()
			if code = r.ProcessState.ExitCode(); code != exitDone {
				require.Contains(t, r.stderr.String(), "slurmflex-hook: neither")
			}
		}
		assert.Equal(t, wake.Call{Cluster: "alpha", Verb: "resume", Nodes: "alpha-a3-[0-1]", Jobs: []uint32{812}}, <-wakeUps)
	})
	t.Run("and becomes slurmflex where none does", func(t *testing.T) {
		w := newWorld(t)
		installed(t, w)
		w.waiting()
		r := prepare(t, w.env(w.resumeFile()), "/bin/sh", "-c", `exec "$0" "$@" <&- >&- 2>&-`, w.path("resume"), "alpha-a3-[0-1]")
		startBlocked(t, r)
		r.exits(exitDone).settle()
		w.requireAsked()
		assert.Empty(t, w.log("warn"))
		for _, c := range w.calls() {
			assert.Equal(t, "0000000000000000", c.blocked, c.args)
		}
	})
	t.Run("and calls a daemon that hangs only once", func(t *testing.T) {
		w := newWorld(t)
		installed(t, w)
		w.waiting()
		hangs, err := net.Listen("unix", wake.SocketPath(w.path("run")))
		require.NoError(t, err)
		defer hangs.Close()
		require.NoError(t, os.Chmod(wake.SocketPath(w.path("run")), 0o600))
		told := 0
		counted := make(chan struct{})
		go func() {
			defer close(counted)
			for _, err := hangs.Accept(); err == nil; _, err = hangs.Accept() {
				told++
			}
		}()
		prepare(t, w.env(w.resumeFile()), w.path("resume"), "alpha-a3-[0-1]").exits(exitDone).settle()
		w.requireAsked()
		require.Len(t, w.log("warn"), 1)
		assert.Contains(t, w.log("warn")[0], "daemon not reachable")
		assert.Contains(t, w.log("warn")[0], "no receipt from the daemon")
		hangs.Close()
		<-counted
		assert.Equal(t, 1, told)
	})
}
