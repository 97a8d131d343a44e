package main

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCheckFailsIfItCannotReadASetting(t *testing.T) {
	w := newWorld(t)
	w.cloud.Advance(time.Since(w.cloud.State().Now)) // its clock may be slow
	w.answer("scontrol", "echo 'slurm_load_ctl_conf error: Unable to contact slurm controller (connect failure)' >&2; exit 1")
	r := w.flex("config", "check", "--live").exits(exitFailed)
	assert.Empty(t, r.stdout.String())
	assert.Equal(t, "config.yaml: slurm_bin_dir: not checked: scontrol show config: Unable to contact slurm controller (connect failure); check that slurmctld is running and SLURM_CONF is correct\n",
		strings.Replace(w.within(r.stderr.String()), "config.yaml:3:", "config.yaml:", 1))
}

func TestCheckDoesNotWaitLongForASilentCompute(t *testing.T) {
	w := newWorld(t)
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		_, _, err := w.inside(t, unreachable["never answers"].wire, "config", "check", "--live")
		require.ErrorContains(t, err, "project: not checked: list groups of us-central1: ")
		require.ErrorContains(t, err, "check that this host can reach Compute")
		assert.LessOrEqual(t, time.Since(begun), 2*time.Minute)
	})
}
