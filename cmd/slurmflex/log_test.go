package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"slurmflex/flex/wake"
	"slurmflex/test/must"
)

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
	d.stops()
	assert.NoFileExists(t, wake.SocketPath(w.path("run")))
}

func TestJournalLinesHavePrioritiesButNoTimes(t *testing.T) {
	w := newWorld(t)
	w.waiting()
	journal := must.Get(os.Create(filepath.Join(t.TempDir(), "journal")))
	defer journal.Close()
	var stat unix.Stat_t
	require.NoError(t, unix.Fstat(int(journal.Fd()), &stat))
	r := w.flex("--log-level", "debug", "sync")
	r.Env = append(r.Env, fmt.Sprintf("JOURNAL_STREAM=%d:%d", stat.Dev, stat.Ino))
	r.Stderr = journal
	r.exits(exitDone)
	b := must.Text(journal.Name())
	assert.Regexp(t, `(?m)^<6>machines requested \{"action": "request 2 nodes .*", "job": 812, "nodes": "alpha-a3-\[0-1\]", "group": "alpha-a3-job-812", "why": "`, b)
	assert.Regexp(t, `(?m)^<7>compute \{`, b)
	for line := range strings.Lines(b) {
		assert.Regexp(t, `^<[3-7]>\S`, line)
	}

	r = w.flex("sync")
	r.Env = append(r.Env, "JOURNAL_STREAM=1:1") // inherited, but for another file than the journal
	assert.NotContains(t, r.exits(exitDone).stderr.String(), "<6>")
}
