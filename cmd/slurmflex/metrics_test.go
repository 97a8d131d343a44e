package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/test/must"
)

func TestSyncWritesMetricsForNodeExporter(t *testing.T) {
	w := newWorld(t)
	w.waiting()
	require.NoError(t, os.Mkdir(w.path("prom"), 0o755))
	file := w.path("prom/slurmflex.prom")
	w.runs("sync", "--textfile", file).settle()
	text := must.Text(file)
	assert.Subset(t, strings.Split(text, "\n"), []string{
		`slurmflex_actions_total{kind="create_request",outcome="done"} 1`,
		`slurmflex_passes_total{outcome="done"} 1`,
		`slurmflex_api_calls_total{code="200",method="regionInstanceGroupManagers.insert"} 1`,
		`slurmflex_slurm_commands_total{command="scontrol show nodes",outcome="done"} 1`,
	})
	assert.NotContains(t, text, "go_goroutines", "node_exporter has its own")
	info, err := os.Stat(file)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o644), info.Mode(), "node_exporter is another user")

	w.withoutSlurm()
	w.fails("sync", "--textfile", file).complains("Unable to contact slurm controller")
	assert.Equal(t, text, must.Text(file), "that of the last good pass stays, and shows its age")
	assert.Equal(t, []string{file}, must.Get(filepath.Glob(w.path("prom/*"))))
}
