package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestActionIsOneLogLineWithItsSubject(t *testing.T) {
	w := newWorld(t)
	w.waiting()
	w.configure("  interval:", "  log_format: json\n  interval:")
	r := w.flex("sync").exits(exitDone)
	var requests []map[string]any
	for line := range strings.Lines(r.stderr.String()) {
		var entry map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &entry), line)
		if entry["msg"] == "machines requested" {
			delete(entry, "ts")
			delete(entry, "took")
			requests = append(requests, entry)
		}
	}
	assert.Equal(t, []map[string]any{{
		"level": "info", "msg": "machines requested", "action": "request 2 nodes (alpha-a3-[0-1]) in alpha-a3-job-812/a1 for 02:10:00",
		"job": 812.0, "nodes": "alpha-a3-[0-1]", "group": "alpha-a3-job-812", "why": "job 812 waits for alpha-a3-[0-1]",
	}}, requests)
}

func TestHooksLogFileHasTheConfiguredFormat(t *testing.T) {
	for format, want := range map[string]string{
		"auto": `{"level":"error","ts":"`, "json": `{"level":"error","ts":"`, "console": ` error nothing done {"hook": "suspend"`,
	} {
		t.Run(format, func(t *testing.T) {
			w := newWorld(t)
			w.configure("  interval:", "  log_format: "+format+"\n  interval:")
			w.hook("suspend", "").exits(exitUsage)
			b, err := os.ReadFile(w.path("log/slurmflex.log"))
			require.NoError(t, err)
			assert.Contains(t, string(b), want)
		})
	}
}

func TestDebugLogsEachCallAndEachCommand(t *testing.T) {
	w := newWorld(t)
	w.waiting()
	quiet := w.flex("plan").exits(exitDone).stderr.String()
	assert.NotContains(t, quiet, "debug")
	loud := w.flex("--log-level", "debug", "plan").exits(exitDone).stderr.String()
	assert.Contains(t, loud, ` debug compute {"method": "regionInstanceGroupManagers.list", "path": "/compute/v1/projects/demo/`)
	assert.Contains(t, loud, ` debug slurm {"command": "scontrol -a -o show nodes", "took": "`)
}

func TestSIGUSR1TogglesDebugLogging(t *testing.T) {
	w := newWorld(t)
	d, says := w.talking()
	says("daemon ready") // from here on, only the intended signal ends it
	d.signal(unix.SIGUSR1)
	says(`log level changed by SIGUSR1 {"level": "debug"}`)
	w.waiting()
	w.wakeUp()
	says(` debug slurm {"command": "scontrol -a -o show nodes"`)
	d.signal(unix.SIGUSR1)
	says(`log level changed by SIGUSR1 {"level": "info"}`)
	d.signal(unix.SIGTERM)
	d.exits(exitDone)
}

func TestJournalLinesHavePrioritiesButNoTimes(t *testing.T) {
	w := newWorld(t)
	w.waiting()
	journal, err := os.Create(filepath.Join(t.TempDir(), "journal"))
	require.NoError(t, err)
	defer journal.Close()
	var stat unix.Stat_t
	require.NoError(t, unix.Fstat(int(journal.Fd()), &stat))
	r := w.flex("--log-level", "debug", "sync")
	r.Env = append(r.Env, fmt.Sprintf("JOURNAL_STREAM=%d:%d", stat.Dev, stat.Ino))
	r.Stderr = journal
	r.exits(exitDone)
	b, err := os.ReadFile(journal.Name())
	require.NoError(t, err)
	assert.Regexp(t, `(?m)^<6>machines requested \{"action": "request 2 nodes .*", "job": 812, "nodes": "alpha-a3-\[0-1\]", "group": "alpha-a3-job-812", "why": "`, string(b))
	assert.Regexp(t, `(?m)^<7>compute \{`, string(b))
	for line := range strings.Lines(string(b)) {
		assert.Regexp(t, `^<[3-7]>\S`, line)
	}

	r = w.flex("sync")
	r.Env = append(r.Env, "JOURNAL_STREAM=1:1") // inherited, but for another file than the journal
	assert.NotContains(t, r.exits(exitDone).stderr.String(), "<6>")
}
