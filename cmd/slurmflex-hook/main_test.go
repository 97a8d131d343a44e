package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/flex/wake"
)

func TestCallForFlexNodesIsHandedOver(t *testing.T) {
	for _, verb := range []string{"resume", "suspend", "resume-fail"} {
		w := newWorld(t)
		wakeUps := w.listen()
		assert.Empty(t, w.requireHandedOver(w.env(), w.path("slurmflex-hook"), w.plain(verb, "alpha-a3-[0-1]")...))
		require.Len(t, wakeUps, 1)
		assert.Equal(t, wake.Call{Cluster: "alpha", Verb: verb, Nodes: "alpha-a3-[0-1]", Jobs: []uint32{812}}, <-wakeUps)
		if verb != "resume" { // only resume needs a resume file
			w.requireHandedOver([]string{beProgram}, w.path("slurmflex-hook"), w.plain(verb, "alpha-a3-7")...)
			assert.Equal(t, wake.Call{Cluster: "alpha", Verb: verb, Nodes: "alpha-a3-7"}, <-wakeUps)
		}
	}
}

func TestHookExecutesSlurmflexInAllOtherCases(t *testing.T) {
	for name, c := range map[string]struct {
		nodes string // empty: alpha-a3-[0-1]
		spoil func(t *testing.T, w *world)
	}{
		"a node of others":    {nodes: "alpha-a3-0,alpha-cpu-1"},
		"an unknown node":     {nodes: "alpha-a3-[6-8]"},
		"no hostlist":         {nodes: "alpha-a3-[0-"},
		"no configuration":    {spoil: func(t *testing.T, w *world) { require.NoError(t, os.Remove(w.path("config.yaml"))) }},
		"a bad configuration": {spoil: func(_ *testing.T, w *world) { w.write("config.yaml", "nodeset: 3\n", 0o644) }},
		"no resume file":      {spoil: func(t *testing.T, w *world) { require.NoError(t, os.Remove(w.path("resume.json"))) }},
		"a socket that is not trusted": {spoil: func(t *testing.T, w *world) {
			require.NoError(t, os.Chmod(wake.SocketPath(w.path("run")), 0o620))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			wakeUps := w.listen()
			if c.spoil != nil {
				c.spoil(t, w)
			}
			if c.nodes == "" {
				c.nodes = "alpha-a3-[0-1]"
			}
			w.requireBecomes(w.plain("resume", c.nodes)...)
			assert.Empty(t, wakeUps, "nothing was handed over")
		})
	}
}

func TestUnusualArgumentsArePassedToSlurmflex(t *testing.T) {
	for _, args := range [][]string{
		{""},
		{"version"},
		{"resume", "--help"},
		{"resume", "alpha-a3-[0-1]", "--config", "CONFIG", "--"},
		{"resume", "--config", "CONFIG", "--", "alpha-a3-0", "alpha-a3-1"},
		{"resume", "--config=CONFIG", "--", "alpha-a3-0"},
		{"status", "--config", "CONFIG", "--", "alpha-a3-0"},
	} {
		w := newWorld(t)
		wakeUps := w.listen()
		for i := range args {
			if args[i] == "CONFIG" {
				args[i] = w.path("config.yaml")
			}
		}
		w.requireBecomes(args...)
		assert.Empty(t, wakeUps)
	}
}

func TestHookBecomesSlurmflexWithoutADaemon(t *testing.T) {
	w := newWorld(t)
	w.requireBecomes(w.plain("suspend", "alpha-a3-[0-1]")...)
}

func TestErrorNamesASlurmflexThatCannotRun(t *testing.T) {
	w := newWorld(t)
	require.NoError(t, os.Chmod(w.path("slurmflex"), 0o644))
	code, printed := run(t, w.env(), w.path("slurmflex-hook"), "version")
	assert.Equal(t, 1, code)
	assert.Equal(t, "slurmflex-hook: run "+w.path("slurmflex")+": permission denied\n", printed)

	if _, err := os.Stat(systems); err == nil {
		t.Skip(systems + " is there: this machine runs slurmflex")
	}
	require.NoError(t, os.Remove(w.path("slurmflex")))
	code, printed = run(t, w.env(), w.path("slurmflex-hook"), "version")
	assert.Equal(t, 1, code)
	assert.Equal(t, "slurmflex-hook: neither "+w.path("slurmflex")+" nor "+systems+" exists; install slurmflex\n", printed)
}
