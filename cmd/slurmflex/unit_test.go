package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/config"
	"slurmflex/test/must"
)

const units = "../../scripts/systemd"

// exposure is the highest score that systemd-analyze security may report for a unit, in tenths: 14
// with systemd 252.
const exposure = "15"

// unit returns the lines of a unit without comments.
func unit(t *testing.T, name string) []string {
	t.Helper()
	var lines []string
	for line := range strings.Lines(must.Text(filepath.Join(units, name))) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	return lines
}

// C6, C11: a reload checks the file first, and memory and tasks are bounded.
func TestUnitsMatchTheDefaultsAndTheHookWrapper(t *testing.T) {
	cfg := must.Get(config.Parse("config.yaml", []byte("slurm_cluster_name: alpha\nproject: demo\n")))
	for name, verb := range map[string]string{"slurmflex.service": "daemon", "slurmflex-sync.service": "sync"} {
		assert.Subset(t, unit(t, name), []string{
			"RuntimeDirectory=" + strings.TrimPrefix(cfg.Options.RunDir, "/run/"), "RuntimeDirectoryMode=0700",
			"RuntimeDirectoryPreserve=yes", // hooks and cron need it too
			"StateDirectory=" + strings.TrimPrefix(cfg.Options.StateDir, "/var/lib/"),
			"StateDirectoryMode=0755", // all users may read the history
			"ExecStart=/usr/bin/slurmflex --config " + defaultConfig + " " + verb, "User=slurm",
			// C11: the daemon cannot use up the host's memory, whatever input it receives.
			"MemoryMax=2G", "TasksMax=512",
		}, name)
	}
	service := unit(t, "slurmflex.service")
	// The watchdog's ABRT must not exit with 2, as a wrong configuration does: the unit would not be restarted.
	assert.Subset(t, service, []string{"Environment=GOTRACEBACK=crash", "Type=notify", "WatchdogSec=25min"})
	assert.Zero(t, watchdogFor(fmt.Sprint(watchdog.Microseconds()), cfg.Options.Interval))
	// C6: a reload with an unusable file fails visibly.
	assert.Contains(t, strings.Join(service, "\n"),
		"ExecReload=/usr/bin/slurmflex --config "+defaultConfig+" config check\nExecReload=/bin/kill -HUP $MAINPID\n")
	contains(t, must.Text(filepath.Join(scripts, "resume")), "program=/usr/bin/slurmflex\n", "config="+defaultConfig+"\n")
	assert.Equal(t, []string{"d " + cfg.Options.RunDir + " 0700 slurm slurm -", "d " + cfg.Options.StateDir + " 0755 slurm slurm -"}, unit(t, "slurmflex.tmpfiles"))
}

// watchdog is the WatchdogSec of the daemon's unit.
const watchdog = 25 * time.Minute

func TestWatchdogSparesAHealthyDaemon(t *testing.T) {
	const usual = 30 * time.Second
	for _, c := range []struct {
		given          string
		interval, want time.Duration
	}{
		{"", usual, 0},
		{"soon", usual, 0},
		{fmt.Sprint(watchdog.Microseconds() - 1), usual, watchdog},
		{fmt.Sprint(watchdog.Microseconds()), 10 * time.Minute, 30 * time.Minute},
	} {
		assert.Equal(t, c.want, watchdogFor(c.given, c.interval), c.given)
	}
}

// The line replaces the timer on hosts without systemd. It is inactive until an admin removes its
// #.
func TestEnabledCronLineRunsAPassEveryMinute(t *testing.T) {
	assert.Empty(t, unit(t, "../cron/slurmflex"), "it is disabled")
	assert.Contains(t, must.Text("../../scripts/cron/slurmflex"), "\n#* * * * * slurm test ! -x /usr/bin/slurmflex || /usr/bin/slurmflex --config "+defaultConfig+" sync ",
		"the line stays when the package is removed")
}

func TestSystemdAcceptsTheUnits(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not installed; it is in the package systemd")
	}
	dir := t.TempDir()
	for _, name := range []string{"slurmflex.service", "slurmflex-sync.service", "slurmflex-sync.timer"} {
		// The unit's program need not be installed on the host of this test.
		text := []byte(strings.ReplaceAll(must.Text(filepath.Join(units, name)), "/usr/bin/slurmflex", os.Args[0]))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
		out, err := exec.CommandContext(t.Context(), analyze, "verify", "--man=no", filepath.Join(dir, name)).CombinedOutput()
		require.NoError(t, err, "%s", out)
		assert.NotContains(t, string(out), name, "%s", out)
		if filepath.Ext(name) != ".service" {
			continue
		}
		out, err = exec.CommandContext(t.Context(), analyze, "security", "--no-pager", "--offline=true",
			"--threshold="+exposure, filepath.Join(dir, name)).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
}
