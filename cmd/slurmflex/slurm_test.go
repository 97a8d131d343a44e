package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"slurmflex/config"
	"slurmflex/flex"
	"slurmflex/flex/logs"
)

func TestPassFailsWithoutSlurm(t *testing.T) {
	for name, c := range map[string]struct {
		program, does string
		says          []string
	}{
		"scontrol fails with its own words": {
			"scontrol", "echo 'slurm_load_node error: Unable to contact slurm controller (connect failure)' >&2; exit 1",
			[]string{"read nodes: scontrol -a -o show nodes: Unable to contact slurm controller (connect failure)"},
		},
		"squeue prints rubbish": {
			"squeue", "echo Segmentation fault", []string{"read jobs: squeue: ", "Segmentation fault"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.left()
			if c.program == "scontrol" {
				c.does = "case \"$*\" in *\" nodes\") " + c.does + "; exit;; esac\n" + knowing
			}
			w.answer(c.program, c.does)
			for _, command := range []string{"sync", "status"} {
				r := w.flex(command).exits(exitFailed)
				r.complains(c.says...)
				assert.Empty(t, r.stdout.String())
			}
			w.assertUntouched()
		})
	}
}

func TestProcessHasOneSlurmClient(t *testing.T) {
	a := &app{}
	cfg := &config.Config{SlurmBinDir: "/usr/bin", Project: "demo", Options: config.Options{ComputeEndpoint: "http://compute.test"}}
	require.NoError(t, a.with(t.Context(), cfg, logs.Log{Logger: zap.NewNop()}, func(r *flex.Reconciler) error {
		assert.Same(t, r.Scheduler, a.lock(cfg).Permission.Slurm, "the limit of two commands at once is the client's")
		return nil
	}))
}
