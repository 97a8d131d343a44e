//go:build e2e

package e2e

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/test/lab"
)

// notifyProgram writes its events into a file. It fails for lost machines.
const notifyProgram = `#!/bin/sh
echo "$1 $2 $SLURMFLEX_CLUSTER $SLURMFLEX_USER $SLURMFLEX_NODESET $SLURMFLEX_NODES: $SLURMFLEX_TEXT" >> DIR/log/notify.log
[ "$1" != machine-lost ]
`

// setNotifyProgram has the daemon run notifyProgram, and restarts the daemon.
func setNotifyProgram(t *testing.T, l *lab.Lab) {
	t.Helper()
	program := filepath.Join(l.Dir, "bin/notify")
	require.NoError(t, os.WriteFile(program, []byte(strings.ReplaceAll(notifyProgram, "DIR", l.Dir)), 0o755))
	text := strings.Replace(readFile(l.Config()), "  interval: 5s\n", "  interval: 5s\n  notify_program: "+program+"\n", 1)
	require.Contains(t, text, program)
	require.NoError(t, os.WriteFile(l.Config(), []byte(text), 0o644))
	restartDaemon(t, l)
}

func restartDaemon(t *testing.T, l *lab.Lab) {
	t.Helper()
	require.NoError(t, l.StopDaemon())
	require.NoError(t, l.StartDaemon(context.Background()))
}

func TestProgramIsToldOfAJobAndItsLostMachine(t *testing.T) {
	onOldest(t)
	l := cluster(t, lab.Options{Daemon: true})
	setNotifyProgram(t, l)
	told := func() string { return readFile(l.Log("notify.log")) }
	id := submitScript(t, l, "sleep 1000", "-p", "train", "-w", "alpha-a3-[0-1]", "-N2", "--time=15")
	awaitJob(t, l, 2*time.Minute, id, "JobState", "RUNNING")
	about := id + " alpha root a3 alpha-a3-"
	events := "machines-granted " + about + "[0-1]: job " + id + ": has all its machines: alpha-a3-[0-1]\n" +
		"job-running " + about + "[0-1]: job " + id + ": runs on alpha-a3-[0-1]\n"
	await(t, time.Minute, "two events", func() bool { return strings.Count(told(), "\n") >= 2 })
	assert.Equal(t, events, told())

	restartDaemon(t, l)
	await(t, time.Minute, "a pass of the new daemon", func() bool {
		status, err := l.Flex(context.Background(), "status")
		return err == nil && strings.Contains(status, id)
	})
	tell(t, l, "vms/alpha-a3-0/delete", nil)
	awaitJob(t, l, time.Minute, id, "Restarts", "1")
	events += "machine-lost " + about + "0: job " + id + ": the machine of alpha-a3-0 is gone: deleted by somebody, or lost by Google\n"
	await(t, time.Minute, "the third event", func() bool { return strings.Count(told(), "\n") >= 3 })
	assert.Equal(t, events, told(), "each event once, also across the restart")
	await(t, time.Minute, "the failure in status", func() bool {
		status, err := l.Flex(context.Background(), "status")
		return err == nil && strings.Contains(strings.Join(strings.Fields(status), " "), "bin/notify failed for machine-lost "+id+" at ")
	})
	awaitWhy(t, l, id, `For the admin: notify_program .* failed for machine-lost `+id)
	cancelForGood(t, l, id)
	awaitNothingLeft(t, l)
}
