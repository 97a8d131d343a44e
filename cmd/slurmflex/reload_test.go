package main

import (
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"slurmflex/flex/wake"
)

// shown returns the daemon's answer at a path; empty if it does not answer.
func shown(address, path string) string {
	answer, err := http.Get("http://" + address + path)
	if err != nil {
		return ""
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body)
	return string(text)
}

// unwrapped returns the output in one line.
func unwrapped(r *process) string { return strings.Join(strings.Fields(r.stdout.String()), " ") }

// servedAt starts a daemon at an address of its own and waits until it serves its first pass.
func (w *world) servedAt() (address string, d *process, says func(text string)) {
	w.Helper()
	address = w.listening()
	d, says = w.talking()
	w.eventually(func() bool { return strings.Contains(shown(address, "/status.json"), `"cluster"`) })
	return address, d, says
}

// C6: a broken file on disk does not stop running processes, and every command names the file.
func TestBrokenConfigurationFileIsNamedButStopsNoProcess(t *testing.T) {
	w := newWorld(t)
	w.cloud.SetCapacity("", "", 0)
	w.waiting()
	address, d, says := w.servedAt()
	w.configure("project: demo\n", "project: [demo\n")
	says("configuration file differs from the running configuration")
	const problem = "the configuration file is invalid; the daemon keeps the one from "
	for _, command := range [][]string{{"status"}, {"status", "--nodeset", "a3"}, {"status", "--json"}} {
		contains(t, unwrapped(w.runs(command...)), problem, "not YAML", "812") // the waiting job is shown as before
	}
	assert.Contains(t, w.prints("why", "812"), "job 812 (ada)")
	contains(t, shown(address, "/metrics"), "\nslurmflex_config_valid 0\n", "\ngo_goroutines ")
	assert.Equal(t, "ok, cluster alpha\n", shown(address, "/healthz"), "the daemon itself is well")

	d.signal(unix.SIGHUP)
	says("configuration not reloaded; the daemon keeps the one it has")

	w.configure("project: [demo\n", "project: demo\n")
	w.eventually(func() bool { return strings.Contains(shown(address, "/metrics"), "\nslurmflex_config_valid 1\n") })
	assert.NotContains(t, unwrapped(w.runs("status")), problem)
	d.stops()
}

// C6: a reload applies changes, names the keys that need a restart, and restarts nothing.
func TestReloadAppliesAValidFileAndNamesKeysForARestart(t *testing.T) {
	w := newWorld(t)
	address, d, says := w.servedAt()
	w.configure("interval: 1h", "interval: 30m")
	w.configure("node_count_dynamic_max: 8", "node_count_dynamic_max: 6")
	w.configure("  run_dir:", "  api_calls_per_second: 7\n  log_level: warn\n  run_dir:")
	shows := func(text string) {
		t.Helper()
		require.EventuallyWithT(t, func(c *assert.CollectT) {
			assert.Contains(c, unwrapped(w.runs("status")), text)
		}, slack, poll)
	}
	shows("config.yaml has changed since ")
	assert.Contains(t, shown(address, "/metrics"), "\nslurmflex_pass_interval_seconds 3600\n", "not without a reload")

	d.signal(unix.SIGHUP)
	says("configuration reloaded")
	shows("config.yaml: a reload does not apply slurmflex.api_calls_per_second, slurmflex.log_level; to apply it: systemctl restart slurmflex")
	assert.Contains(t, shown(address, "/metrics"), "\nslurmflex_pass_interval_seconds 1800\n")
	shows("nodeset a3: 6 nodes")
	w.waiting()
	w.wakeUp()
	w.eventually(func() bool { return len(w.machines()) == 2 }, "passes continue")
	d.stops()
}

// C6: without a valid configuration a hook cannot call a delegate, but the daemon can serve the
// flex nodes; slurmctld discards the hooks' output.
func TestHookWithBrokenConfigurationHandsOverAndLogsToSyslog(t *testing.T) {
	w := newWorld(t)
	w.configure("interval: 1h", "interval: soon")
	syslog := newManager(t, w.path("log/syslog"))
	resume := func(code int) (printed, logged string) {
		t.Helper()
		return w.resume("alpha-a3-[0-1]", syslogSocketOf+"="+w.path("log/syslog")).exits(code).stderr.String(), syslog.reads()
	}
	printed, logged := resume(exitUsage)
	assert.Contains(t, printed, w.path("config.yaml"))
	assert.Regexp(t, `^<27>slurmflex\[\d+\]: nothing done: the configuration is invalid and the daemon is not reachable \{`, logged)
	contains(t, logged, "slurmflex.interval", `"nodes": "alpha-a3-[0-1]"`)

	wakeUps := w.listen()
	for len(wakeUps) == 0 { // a busy machine may delay the daemon
		_, logged = resume(exitDone)
	}
	contains(t, logged, "the daemon was woken up", "slurmflex.interval")
	assert.Equal(t, wake.Call{Cluster: "alpha", Verb: "resume", Nodes: "alpha-a3-[0-1]", Jobs: []uint32{812}}, <-wakeUps)
	w.assertUntouched()
}

// C6: the journal contains the hooks' log next to the daemon's; without a log file it also contains
// the reason why the file is not written.
func TestHookWithoutALogFileLogsToSyslog(t *testing.T) {
	w := newWorld(t)
	syslog := newManager(t, w.path("syslog"))
	w.hook("suspend", "", syslogSocketOf+"="+w.path("syslog")).exits(exitUsage)
	w.logged("error")
	require.NoError(t, os.RemoveAll(w.path("log")))
	w.hook("suspend", "", syslogSocketOf+"="+w.path("syslog")).exits(exitUsage)
	for _, says := range []string{"nothing done", "log file cannot be opened; logging to syslog", "nothing done"} {
		assert.Contains(t, syslog.reads(), "]: "+says)
	}
}

func TestHookDoesNotWaitForAHungSyslog(t *testing.T) {
	w := newWorld(t)
	newManager(t, w.path("syslog"))
	full, err := net.Dial("unixgram", w.path("syslog"))
	require.NoError(t, err)
	defer full.Close()
	for err == nil {
		require.NoError(t, full.SetWriteDeadline(time.Now().Add(50*time.Millisecond)))
		_, err = full.Write([]byte("x"))
	}
	begun := time.Now()
	w.hook("suspend", "", syslogSocketOf+"="+w.path("syslog")).exits(exitUsage)
	assert.Less(t, time.Since(begun), slack)
	w.logged("error")
}
