package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/flex"
)

const scripts = "../../scripts"

// install puts the hooks' wrappers beside the configuration, and slurmflex.
func (w *world) install(t *testing.T) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(scripts, "resume"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(w.path("resume"), b, 0o755))
	for _, name := range []string{"suspend", "resume-fail"} {
		to, err := os.Readlink(filepath.Join(scripts, name))
		require.NoError(t, err)
		require.NoError(t, os.Symlink(to, w.path(name)))
	}
	self, err := os.Executable()
	require.NoError(t, err)
	require.NoError(t, os.Symlink(self, w.path("slurmflex")))
}

func TestTheWrappersCallTheirHookWithWhatIsBesideThem(t *testing.T) {
	for _, verb := range []string{"resume", "suspend", "resume-fail"} {
		t.Run(verb, func(t *testing.T) {
			w := newWorld(t)
			w.install(t)
			hints := w.listen(t)
			r := prepare(t, []string{w.resumeFile(t)}, w.path(verb), "alpha-a3-[0-1]")
			r.Dir = "/"
			r.exits(t, exitDone).saysNothing(t)
			require.Len(t, hints, 1)
			hint := <-hints
			assert.Equal(t, flex.Hint{Verb: verb, Nodes: "alpha-a3-[0-1]", Jobs: []uint32{812}}, hint)
		})
	}
}

func TestARoundThatAWrapperBeginsFindsTheConfigurationToo(t *testing.T) {
	w := newWorld(t)
	w.install(t)
	w.waiting(t)
	r := prepare(t, []string{w.resumeFile(t)}, w.path("resume"), "alpha-a3-[0-1]")
	r.Dir = w.path("log")
	r.exits(t, exitDone).settle(t)
	w.requireAsked(t)
}

func TestAWrapperCalledWithoutNodesIsWrongUsage(t *testing.T) {
	w := newWorld(t)
	w.install(t)
	prepare(t, nil, w.path("suspend")).exits(t, exitUsage).complains(t, "no nodes in hostlist")
}

func TestWithoutAConfigurationBesideItAWrapperTakesTheSystems(t *testing.T) {
	if _, err := os.Stat(defaultConfig); err == nil {
		t.Skip(defaultConfig + " exists: this machine runs slurmflex")
	}
	w := newWorld(t)
	w.install(t)
	require.NoError(t, os.Remove(w.path("config.yaml")))
	prepare(t, nil, w.path("resume"), "alpha-a3-0").exits(t, exitUsage).complains(t, defaultConfig, "no such file or directory")
}
