package main

import (
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/flex/wake"
)

// mixed returns a world with machines of nodes 0 and 1 to delete, and a machine for node 2 to
// create.
func mixed(t *testing.T) *world {
	t.Helper()
	w := left(t)
	w.nodes(poweringUp, 2, 2)
	w.jobs("813 1:00:00 CONFIGURING alpha-a3-2")
	return w
}

func TestGCOnlyDeletes(t *testing.T) {
	w := mixed(t)
	r := w.runs("gc")
	r.printed("1 action done\n")
	assert.Contains(t, r.stderr.String(), `info machines deleted {"action": "delete instances alpha-a3-[0-1] of alpha-a3-job-812"`, "the log has the action")
	assert.Empty(t, w.machines())
	w.runs("gc")
	assert.Empty(t, w.cloud.State().Groups)
	assert.Equal(t, "nothing to do\n", w.prints("gc"))
	assert.Equal(t, []string{"regionInstanceGroupManagers.deleteInstances", "regionInstanceGroupManagers.delete"}, w.changes())
	assert.Empty(t, w.updates())
}

// daemon starts the daemon and waits until it listens.
func (w *world) daemon() *process {
	w.Helper()
	d := w.flex("daemon")
	require.NoError(w, d.Start())
	require.Eventually(w, func() bool {
		conn, err := net.Dial("unix", wake.SocketPath(w.path("run")))
		if err == nil {
			conn.Close()
		}
		return err == nil
	}, slack, poll)
	return d
}

// wakeUp sends a wake-up to the daemon, repeatedly if a busy machine delays the daemon.
func (w *world) wakeUp() {
	w.Helper()
	require.Eventually(w, func() bool {
		return wake.Send(w.Context(), wake.SocketPath(w.path("run")), wake.Call{Cluster: "alpha", Verb: "resume", Nodes: "alpha-a3-[0-1]", Jobs: []uint32{812}}) == nil
	}, slack, poll, "the daemon is late each time")
}

// talking starts a daemon. It also returns a function that waits until the daemon's log contains a
// text.
func (w *world) talking() (d *process, says func(text string)) {
	w.Helper()
	d = w.flex("daemon")
	log := newTerminal(w, 24, 80)
	d.Stderr = log.tty
	require.NoError(w, d.Start())
	return d, func(text string) {
		w.Helper()
		w.eventually(func() bool { return strings.Contains(log.shown(), text) }, "%s", text)
	}
}

// poll is the interval at which a test checks its condition.
const poll = 5 * time.Millisecond

// count returns how many dummy runs have a command line with this prefix.
func (w *world) count(prefix string) int {
	w.Helper()
	n := 0
	for _, c := range w.calls() {
		if strings.HasPrefix(c.args, prefix) {
			n++
		}
	}
	return n
}

func TestBlockIsRecordedInANodesetsNodes(t *testing.T) {
	w := newWorld(t)
	tomorrow := time.Now().AddDate(0, 0, 1)
	out := w.prints("block", "a3", "--until", tomorrow.Format(time.DateOnly), "--cancel", "--why", "driver update ")
	assert.Equal(t, "nodeset a3 is blocked until "+tomorrow.Format("00:00:00 on Jan 2, 2006")+
		": no machines are requested for it, and its requests that wait for capacity are cancelled; to unblock it: slurmflex unblock a3\n", out)
	change := w.updates()[0]
	until := time.Date(tomorrow.Year(), tomorrow.Month(), tomorrow.Day(), 0, 0, 0, 0, time.Local)
	assert.Regexp(t, `^nodename=alpha-a3-\[0-7\] extra=slurmflex: blocked at \S+ until `+until.UTC().Format(time.RFC3339)+`, requests are cancelled: driver update$`, change)

	w.rejects("block", "a3", "--why", strings.Repeat("x", 201)).complains("--why has 201 bytes; use at most 200")
}
