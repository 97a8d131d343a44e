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
	"slurmflex/test/must"
)

const scripts = "../../scripts"

// install puts the hooks' wrappers and slurmflex next to the configuration.
func (w *world) install() {
	w.Helper()
	w.write("resume", must.Text(filepath.Join(scripts, "resume")))
	for _, name := range []string{"suspend", "resume-fail"} {
		require.NoError(w, os.Symlink(must.Get(os.Readlink(filepath.Join(scripts, name))), w.path(name)))
	}
	self := must.Get(os.Executable())
	require.NoError(w, os.Symlink(self, w.path("slurmflex")))
}

// hookProgram builds slurmflex-hook.
func hookProgram(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "slurmflex-hook")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", path, "../slurmflex-hook")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return must.Text(path)
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

// The slim hook becomes slurmflex if the daemon hangs.
func TestWrapperPrefersTheSlimHook(t *testing.T) {
	w := newWorld(t)
	w.install()
	require.NoError(t, os.WriteFile(w.path("slurmflex-hook"), []byte(hookProgram(t)), 0o755))
	w.waiting()
	hangs := must.Get(net.Listen("unix", wake.SocketPath(w.path("run"))))
	defer hangs.Close()
	require.NoError(t, os.Chmod(wake.SocketPath(w.path("run")), 0o600))
	told := make(chan int)
	go func() {
		calls := 0
		for _, err := hangs.Accept(); err == nil; _, err = hangs.Accept() {
			calls++
		}
		told <- calls
	}()
	r := prepare(t, w.env(w.resumeFile()), "/bin/sh", "-c", `exec "$0" "$@" <&- >&- 2>&-`, w.path("resume"), "alpha-a3-[0-1]")
	startBlocked(t, r)
	r.exits(exitDone).settle()
	w.requireAsked()
	w.logged("warn", "no receipt from the daemon")
	for _, c := range w.calls() {
		assert.Equal(t, "0000000000000000", c.blocked, c.args)
	}
	hangs.Close()
	assert.Equal(t, 1, <-told)

	w.remove("slurmflex")
	prepare(t, nil, w.path("resume"), "alpha-a3-0").exits(exitFailed).reports("slurmflex-hook: neither ")
}
