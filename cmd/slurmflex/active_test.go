package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// standingBy makes this host the backup controller's, with the primary in the given state.
func (w *world) standingBy(t *testing.T, primary string) {
	t.Helper()
	host, err := os.Hostname()
	require.NoError(t, err)
	w.write(t, "controllers", fmt.Sprintf("Slurmctld(primary) at ctl1 is %s\nSlurmctld(backup) at %s is UP\n", primary, host))
}

func TestBackupHostDoesNothingWhileThePrimaryIsUp(t *testing.T) {
	w := newWorld(t)
	w.left(t)
	w.standingBy(t, "UP")
	for _, command := range []string{"sync", "gc"} {
		r := w.flex(t, command).exits(t, exitDone)
		assert.Equal(t, "nothing done: slurmctld is active on ctl1\n", r.stdout.String())
		assert.Empty(t, r.stderr.String())
	}
	w.hook(t, "suspend", "alpha-a3-[0-1]").exits(t, exitDone).settle(t)
	w.assertUntouched(t)
	assert.Empty(t, w.cloud.Calls())
	assert.Empty(t, w.log(t, "error"))

	r := w.flex(t, "plan").exits(t, exitDone)
	assert.Contains(t, r.stdout.String(), "delete instances alpha-a3-[0-1]", "the client gets an answer")

	w.standingBy(t, "DOWN")
	w.flex(t, "sync").exits(t, exitDone)
	assert.Empty(t, w.machines())
}

// slurmUser makes another user SlurmUser.
func (w *world) slurmUser(t *testing.T, user string) {
	t.Helper()
	const ours = `us(%s)\n' $(id -u)`
	require.Contains(t, knowing, ours)
	w.answer(t, "scontrol", strings.Replace(knowing, ours, user+`\n'`, 1))
}

func TestModifyingCommandsRunOnlyAsSlurmUser(t *testing.T) {
	w := newWorld(t)
	w.left(t)
	w.slurmUser(t, "slurm(4294967294)")
	for _, command := range []string{"daemon", "sync", "gc"} {
		r := w.flex(t, command).exits(t, exitFailed)
		lines := strings.SplitAfter(r.stderr.String(), "\n")
		requireLine(t, lines[len(lines)-2], "slurmflex: not SlurmUser: this runs as ", "SlurmUser is slurm; run it as slurm")
		r.settle(t)
	}
	w.hook(t, "suspend", "alpha-a3-[0-1]").exits(t, exitDone).settle(t)
	require.Len(t, w.log(t, "error"), 1)
	assert.Contains(t, w.log(t, "error")[0], "not SlurmUser")
	w.assertUntouched(t)
}

func TestReadOnlyCommandsRunAsAnyUser(t *testing.T) {
	w := newWorld(t)
	w.left(t)
	w.slurmUser(t, "slurm(4294967294)")
	for _, command := range [][]string{{"plan"}, {"status"}, {"config", "check"}, {"gc", "--dry-run"}} {
		r := w.flex(t, command...).exits(t, exitDone)
		assert.Contains(t, r.stdout.String(), "alpha", command)
		assert.Empty(t, r.stderr.String())
	}
}
