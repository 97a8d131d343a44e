package main

import (
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"slurmflex/test/must"
)

// manager plays systemd's part for a service: a socket that receives notifications.
type manager struct {
	*net.UnixConn
	testing.TB
}

func newManager(t testing.TB, socket string) manager {
	t.Helper()
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	return manager{conn, t}
}

// reads returns the next message.
func (m manager) reads() string {
	m.Helper()
	require.NoError(m, m.SetReadDeadline(time.Now().Add(slack)))
	buffer := make([]byte, 64<<10)
	n, err := m.Read(buffer)
	require.NoError(m, err)
	return string(buffer[:n])
}

// hears returns the next message as its assignments.
func (m manager) hears() map[string]string {
	m.Helper()
	state := map[string]string{}
	for line := range strings.Lines(m.reads()) {
		key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		state[key] = value
	}
	return state
}

// hearsNothing asserts that no message has arrived.
func (m manager) hearsNothing() {
	m.Helper()
	require.NoError(m, m.SetReadDeadline(time.Now()))
	n, err := m.Read(make([]byte, 1))
	require.ErrorIs(m, err, os.ErrDeadlineExceeded, "%d bytes", n)
}

// service starts the daemon as systemd does: Type=notify, with a watchdog.
func (w *world) service() (*process, manager) {
	w.Helper()
	m := newManager(w, w.path("notify"))
	d := w.flex("daemon")
	d.Env = append(d.Env, "NOTIFY_SOCKET="+w.path("notify"), "WATCHDOG_USEC=1500000000")
	require.NoError(w, d.Start())
	return d, m
}

func TestDaemonNotifiesSystemd(t *testing.T) {
	w := left(t)
	d, m := w.service()
	assert.Equal(t, map[string]string{
		"READY": "1", "STATUS": "ready; first pass running",
		"WATCHDOG_USEC": "4800000000", // an interval of 1 h, and 20 min for the pass
	}, m.hears())
	state := m.hears()
	assert.Equal(t, "1", state["WATCHDOG"])
	assert.Regexp(t, `^ok: last pass 20\S+Z$`, state["STATUS"])

	d.signal(unix.SIGTERM)
	for state["STOPPING"] == "" {
		state = m.hears()
	}
	assert.Equal(t, map[string]string{"STOPPING": "1", "STATUS": "stopping"}, state)
	d.exits(exitDone).settle()
	m.hearsNothing()
}

// locked reports whether a process holds the file's lock, without touching the lock.
func (w *world) locked(name string) bool {
	w.Helper()
	var stat unix.Stat_t
	require.NoError(w, unix.Stat(w.path(name), &stat))
	return strings.Contains(must.Text("/proc/locks"), fmt.Sprintf(":%d ", stat.Ino))
}

func TestOnlyAPassFeedsTheWatchdog(t *testing.T) {
	w := newWorld(t)
	d, m := w.service()
	require.Equal(t, "1", m.hears()["READY"])
	require.Equal(t, "1", m.hears()["WATCHDOG"])

	holder := must.Get(os.Create(w.path("run/round.lock")))
	defer holder.Close()
	require.NoError(t, unix.Flock(int(holder.Fd()), unix.LOCK_EX))
	begun := w.count("squeue")
	w.wakeUp()
	w.eventually(func() bool { return w.locked("run/next.lock") }, "the pass waits for its turn")
	m.hearsNothing()
	require.Equal(t, begun, w.count("squeue"))

	require.NoError(t, holder.Close())
	assert.Equal(t, "1", m.hears()["WATCHDOG"])
	d.stops()
}

func TestSystemdIsNotifiedWhyPassesFail(t *testing.T) {
	w := newWorld(t)
	w.withoutSlurm()
	d, m := w.service()
	require.Equal(t, "1", m.hears()["READY"], "it serves hooks")
	assert.Equal(t, map[string]string{
		"WATCHDOG": "1", "STATUS": "cannot reconcile: read slurm.conf: scontrol show config: Unable to contact slurm controller",
	}, m.hears(), "it keeps trying")
	d.stops()
}
