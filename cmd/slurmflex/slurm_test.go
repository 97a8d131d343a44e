package main

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestWithoutSlurmNoPassSucceeds(t *testing.T) {
	for name, c := range map[string]struct {
		program, does string
		says          []string
	}{
		"scontrol fails with its own words": {
			"scontrol", "echo 'slurm_load_node error: Unable to contact slurm controller (connect failure)' >&2; exit 1",
			[]string{"read nodes: scontrol -a -o show nodes: Unable to contact slurm controller (connect failure)"},
		},
		"scontrol prints rubbish": {
			"scontrol", "echo Segmentation fault", []string{"read nodes: scontrol show nodes: ", "Segmentation fault"},
		},
		"scontrol prints nothing": {
			"scontrol", ":", []string{"read nodes: scontrol show nodes: no output"},
		},
		"scontrol hangs": {
			"scontrol", "exec sleep 600", []string{"read nodes: scontrol -a -o show nodes: no answer within 5s"},
		},
		"squeue fails with its own words": {
			"squeue", "echo 'slurm_load_jobs error: Invalid user id' >&2; exit 1", []string{"read jobs: squeue", "Invalid user id"},
		},
		"squeue prints rubbish": {
			"squeue", "echo Segmentation fault", []string{"read jobs: squeue: ", "Segmentation fault"},
		},
		"squeue hangs": {
			"squeue", "exec sleep 600", []string{"read jobs: squeue", "no answer within 5s"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.left(t)
			if c.program == "scontrol" {
				c.does = "case \"$*\" in *\" nodes\") " + c.does + "; exit;; esac\n" + knowing
			}
			w.answer(t, c.program, c.does)
			for _, command := range []string{"sync", "gc", "plan", "status"} {
				r := w.flex(t, command)
				if strings.Contains(c.does, "sleep") {
					r.Env = append(r.Env, slurmLimit+"=5s")
				}
				r.exits(t, exitFailed).complains(t, c.says...)
				assert.Empty(t, r.stdout.String())
				r.settle(t)
			}
			w.assertUntouched(t)
		})
	}
}

func TestWithoutScontrolTheFolderIsNamed(t *testing.T) {
	w := newWorld(t)
	require.NoError(t, os.Remove(w.path("bin/scontrol")))
	r := w.flex(t, "sync").exits(t, exitFailed)
	r.complains(t, w.path("bin/scontrol")+": no such file or directory", "is slurm_bin_dir the folder of scontrol and squeue?")
	assert.Empty(t, w.changes())
}

func TestAPassThatWaitsForSlurmCanBeStopped(t *testing.T) {
	w := newWorld(t)
	require.NoError(t, unix.Mkfifo(w.path("reached"), 0o600))
	w.answer(t, "scontrol", "echo >DIR/reached; exec sleep 600")
	r := w.flex(t, "sync")
	require.NoError(t, r.Start())
	_, err := os.ReadFile(w.path("reached"))
	require.NoError(t, err)
	require.NoError(t, r.Process.Signal(unix.SIGTERM))
	r.exits(t, exitFailed).complains(t, "pass interrupted: terminated signal received")
	r.settle(t)
	w.assertUntouched(t)
}

func TestAHookWaitsNoLongerForSlurmThanItsLimit(t *testing.T) {
	w := newWorld(t)
	require.NoError(t, os.Remove(w.path("run")))
	w.answer(t, "scontrol", "exec sleep 600")
	r := w.hook(t, "resume", "alpha-a3-[0-1]", slurmLimit+"=2s", w.resumeFile(t)).exits(t, exitFailed)
	r.complains(t, "daemon not reachable", "no answer within 2s")
}
