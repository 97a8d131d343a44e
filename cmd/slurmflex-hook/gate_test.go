package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/test/must"
)

// A slurm.conf of v0.1.0 may use the gate as PrologSlurmctld: if the gate fails, no job starts.
func TestFormerGateRunsOnlyTheSitesProlog(t *testing.T) {
	w := newWorld(t)
	w.write("gate", must.Text("../../scripts/gate"), 0o755)
	env := []string{beProgram, "SLURM_JOB_ID=812"}
	code, _ := run(t, env, w.path("gate"))
	assert.Zero(t, code)

	w.write("prolog-slurmctld", "#!/bin/sh\necho $SLURM_JOB_ID >DIR/own\nexit 3\n", 0o755)
	code, _ = run(t, env, w.path("gate"))
	assert.Equal(t, 3, code)
	assert.Equal(t, "812\n", must.Text(w.path("own")))

	require.NoError(t, os.Chmod(w.path("prolog-slurmctld"), 0o644))
	code, _ = run(t, env, w.path("gate"))
	assert.Equal(t, 126, code, "a prolog that cannot run stops jobs")
}
