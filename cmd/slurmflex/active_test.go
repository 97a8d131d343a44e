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
func (w *world) standingBy(primary string) {
	w.Helper()
	host, err := os.Hostname()
	require.NoError(w, err)
	w.write("controllers", fmt.Sprintf("Slurmctld(primary) at ctl1 is %s\nSlurmctld(backup) at %s is UP\n", primary, host))
}

func TestBackupHostDoesNothingWhileThePrimaryIsUp(t *testing.T) {
	w := left(t)
	w.standingBy("UP")
	for _, command := range []string{"sync", "gc"} {
		r := w.runs(command)
		r.printed("nothing done: slurmctld is active on ctl1\n")
		r.isQuiet()
	}
	w.hook("suspend", "alpha-a3-[0-1]").exits(exitDone).settle()
	w.assertUntouched()
	assert.Empty(t, w.cloud.Calls())
	assert.Empty(t, w.log("error"))

	assert.Contains(t, w.runs("plan").stdout.String(), "delete instances alpha-a3-[0-1]", "the client gets an answer")

	w.standingBy("DOWN")
	w.runs("sync")
	assert.Empty(t, w.machines())
}

// slurmUser makes another user SlurmUser.
func (w *world) slurmUser(user string) {
	w.Helper()
	const ours = `us(%s)\n' $(id -u)`
	require.Contains(w, knowing, ours)
	w.answer("scontrol", strings.Replace(knowing, ours, user+`\n'`, 1))
}

func TestModifyingCommandsRunOnlyAsSlurmUser(t *testing.T) {
	w := left(t)
	w.slurmUser("slurm(4294967294)")
	for _, command := range []string{"daemon", "sync", "gc"} {
		r := w.fails(command)
		lines := strings.SplitAfter(r.stderr.String(), "\n")
		requireLine(t, lines[len(lines)-2], "slurmflex: not SlurmUser: this runs as ", "SlurmUser is slurm; run it as slurm")
		r.settle()
	}
	w.hook("suspend", "alpha-a3-[0-1]").exits(exitDone).settle()
	w.logged("error", "not SlurmUser")
	w.assertUntouched()
}
