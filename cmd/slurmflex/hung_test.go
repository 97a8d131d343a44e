package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"slurmflex/config"
)

func TestADaemonOutlivesAHungScontrolAndDestroysNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.left(t)
	w.configure(t, "interval: 1h", "interval: 1s")
	// Each has a process of its own in its group, and notes both.
	w.answer(t, "scontrol", `case "$*" in *" nodes") sleep 600 & echo $$ $! >>DIR/hung; exec sleep 600;; esac
`+knowing)
	d := w.flex(t, "daemon")
	d.Env = append(d.Env, slurmLimit+"=3s")
	require.NoError(t, d.Start())
	require.Eventually(t, func() bool { return len(w.hung(t)) >= 2*2 }, slack, poll, "two passes")
	w.answer(t, "scontrol", knowing)
	require.Eventually(t, func() bool { return len(w.machines()) == 0 }, slack, poll, "passes continue")
	for _, pid := range w.hung(t) {
		assert.True(t, gone(pid), "process %s of a hung scontrol", pid)
	}
	require.NoError(t, d.Process.Signal(unix.SIGTERM))
	d.exits(t, exitDone).settle(t)
	said := d.stderr.String()
	assert.Equal(t, 1, strings.Count(said, "no answer within 3s"), said)
	assert.Less(t, strings.Index(said, "no answer within 3s"), strings.Index(said, "delete instances"), "nothing before Slurm could be read")
}

// hung are the processes that hung scontrols have noted.
func (w *world) hung(t *testing.T) []string {
	t.Helper()
	b, err := os.ReadFile(w.path("hung"))
	if os.IsNotExist(err) {
		return nil
	}
	require.NoError(t, err)
	return strings.Fields(string(b))
}

// gone reports whether a process has ended; a zombie has.
func gone(pid string) bool {
	stat, err := os.ReadFile(filepath.Join("/proc", pid, "stat"))
	return err != nil || strings.Contains(string(stat), ") Z ")
}

func TestAllOfAProcessAsksSlurmThroughOneClient(t *testing.T) {
	a, cfg := &app{}, &config.Config{SlurmBinDir: "/usr/bin"}
	r, closeCloud, err := a.reconciler(t.Context(), &config.Config{
		SlurmBinDir: cfg.SlurmBinDir, Project: "demo", Options: config.Options{ComputeEndpoint: "http://compute.test"},
	}, zap.NewNop())
	require.NoError(t, err)
	defer closeCloud()
	assert.Same(t, r.Scheduler, a.lock(cfg).Permission.Slurm, "the limit of two commands at once is the client's")
}
