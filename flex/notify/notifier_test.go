package notify

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"slurmflex/flex/leader"
	"slurmflex/flex/plan/action"
	"slurmflex/flex/view"
	"slurmflex/slurm"
)

// office is a notifier with a program that writes into a folder, and the world that it watches.
type office struct {
	*world
	*Notifier
	t    *testing.T
	dir  string
	time time.Time
	logs *observer.ObservedLogs
}

// newOffice returns a notifier that has seen the first pass. The shell script is its program.
func newOffice(t *testing.T, script string) *office {
	t.Helper()
	o := &office{world: newWorld(t), t: t, dir: t.TempDir(), time: time.Now()}
	program := filepath.Join(o.dir, "program")
	require.NoError(t, os.WriteFile(program, []byte("#!/bin/sh\ncd "+o.dir+" || exit 1\n"+script), 0o755))
	o.Config.Options.NotifyProgram, o.Config.Options.NotifyTimeout = program, time.Minute
	core, logs := observer.New(zap.InfoLevel)
	o.logs = logs
	o.Notifier = New(o.Config, zap.New(core), func() time.Time { return o.time })
	o.see()
	return o
}

// see makes a pass.
func (o *office) see() {
	o.Snap.Now = o.Snap.Now.Add(time.Minute)
	o.Saw(o.Scene(), o.plan)
}

// happens lets a number of jobs start.
func (o *office) happens(jobs int) {
	o.grant()
	for id := range jobs {
		j := o.Job(uint32(id+1), "train", "alpha-a3-0", slurm.JobRunning)
		j.Start, j.User = o.Snap.Now, "ada"
	}
	o.see()
}

// works runs the program for queued events until it has ended for that many.
func (o *office) works(events int) {
	o.t.Helper()
	ctx, cancel := context.WithCancel(o.t.Context())
	done := make(chan struct{})
	go func() { defer close(done); o.Run(ctx) }()
	require.Eventually(o.t, func() bool { return o.logs.FilterField(zap.String("id", fmt.Sprint(events))).Len() > 0 }, 20*time.Second, 10*time.Millisecond)
	cancel()
	<-done
}

func (o *office) problems() []string {
	var v view.View
	o.Fill(&v)
	require.Len(o.t, v.Listed, len(v.Problems))
	return v.Problems
}

func (o *office) read(name string) string {
	text, _ := os.ReadFile(filepath.Join(o.dir, name))
	return string(text)
}

func TestProgramGetsTheEventInACleanEnvironment(t *testing.T) {
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", "/secret")
	t.Setenv("SLURM_CONF", "/etc/slurm/slurm.conf")
	o := newOffice(t, `echo "$#" "$1" "$2" >> args; env > env; pwd -P`)
	o.happens(1)
	o.works(1)
	assert.Equal(t, "2 job-running 1\n", o.read("args"))
	var env []string
	for line := range strings.Lines(o.read("env")) {
		if line = strings.TrimSpace(line); !strings.HasPrefix(line, "PWD=") && !strings.HasPrefix(line, "_=") && !strings.HasPrefix(line, "OLDPWD=") {
			env = append(env, line)
		}
	}
	assert.ElementsMatch(t, []string{
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8", "SLURM_CONF=/etc/slurm/slurm.conf",
		"SLURMFLEX_CLUSTER=alpha", "SLURMFLEX_EVENT=job-running", "SLURMFLEX_TIME=2026-11-21T12:03:00Z", "SLURMFLEX_JOB_ID=1", "SLURMFLEX_JOB=1",
		"SLURMFLEX_USER=ada", "SLURMFLEX_PARTITION=train", "SLURMFLEX_NODESET=a3", "SLURMFLEX_NODES=alpha-a3-0", "SLURMFLEX_TEXT=job 1: runs on alpha-a3-0",
	}, env)
	assert.Empty(t, o.problems())
}

func TestHostileTextsAreShortAndOnOneLine(t *testing.T) {
	e := Event{Kind: "job-held", Job: slurm.Job{ID: 7, User: "ada\nSLURMFLEX_EVENT=none\x00\x1b[31m"}, Text: strings.Repeat("x", 5000)}
	for _, line := range e.environment("alpha") {
		assert.NotContains(t, line, "\n")
		assert.NotContains(t, line, "\x00")
		assert.Less(t, len(line), 2100)
	}
	assert.Contains(t, e.environment("alpha"), "SLURMFLEX_USER=ada SLURMFLEX_EVENT=none  [31m")
}

func TestProgramRunsOnceAtATimeAndInOrder(t *testing.T) {
	o := newOffice(t, `mkdir running || echo twice >> args; echo "$2" >> args; sleep 0.02; rmdir running`)
	o.happens(5)
	o.works(5)
	assert.Equal(t, "1\n2\n3\n4\n5\n", o.read("args"))
}

func TestSlowProgramDelaysNoPassAndLosesTheOldestEvents(t *testing.T) {
	o := newOffice(t, `echo "$2" >> args`)
	o.happens(mostQueued + 30)
	o.works(mostQueued + 30)
	assert.Equal(t, mostQueued, strings.Count(o.read("args"), "\n"))
	assert.True(t, strings.HasPrefix(o.read("args"), "31\n"))
	at := o.time.UTC().Format("15:04:05 MST")
	assert.Equal(t, []string{"30 notifications were dropped since the daemon started, the last at " + at + ", because notify_program is too slow: make it faster, or list fewer notify_events"}, o.problems())
	o.time = o.time.Add(time.Hour)
	assert.Empty(t, o.problems())
}

func TestOnlyListedEventsAreReported(t *testing.T) {
	o := newOffice(t, "")
	o.Config.Options.NotifyEvents = []string{"machine-lost"}
	o.happens(1)
	assert.Empty(t, o.queue)
	o.Config.Options.NotifyEvents = nil
	o.see()
	assert.Empty(t, o.queue, "it is not new any more")
}

func TestFailingProgramIsAProblemUntilItSucceeds(t *testing.T) {
	o := newOffice(t, `echo "https://hooks.example/secret"; [ -e fixed ]`)
	o.happens(1)
	o.works(1)
	assert.Equal(t, []string{"notify_program " + o.dir + "/program failed for job-running 1 at 12:03:00 UTC: exit status 1; its output is in the log"}, o.problems())
	assert.Equal(t, 1, o.logs.FilterField(zap.String("output", "https://hooks.example/secret")).FilterMessage("notify_program failed").Len())
	require.NoError(t, os.WriteFile(filepath.Join(o.dir, "fixed"), nil, 0o600))
	o.happens(2)
	o.works(2)
	assert.Empty(t, o.problems())
}

func TestReloadForgetsTheOldProgramsFailure(t *testing.T) {
	o := newOffice(t, "exit 1")
	o.happens(1)
	o.works(1)
	assert.Len(t, o.problems(), 1)
	o.Use(o.Config)
	assert.Empty(t, o.problems())
}

func TestTimeoutKillsTheProgramAndItsChildren(t *testing.T) {
	o := newOffice(t, "(sleep 3; touch survived) & echo $! > child; wait")
	o.Config.Options.NotifyTimeout = time.Second
	o.happens(1)
	o.works(1)
	require.Len(t, o.problems(), 1)
	assert.Contains(t, o.problems()[0], "failed for job-running 1 at 12:03:00 UTC: killed after 1s (notify_timeout);")
	require.Eventually(t, func() bool {
		_, err := os.Stat("/proc/" + strings.TrimSpace(o.read("child")))
		return os.IsNotExist(err)
	}, 2*time.Second, 10*time.Millisecond)
	assert.NoFileExists(t, filepath.Join(o.dir, "survived"))
}

func TestProgramMayLeaveAChildBehind(t *testing.T) {
	o := newOffice(t, "sleep 5 & exit 0")
	o.happens(1)
	o.works(1)
	assert.Empty(t, o.problems())
}

func TestProgramThatOthersCanChangeIsNotRun(t *testing.T) {
	o := newOffice(t, `echo "$2" >> args`)
	require.NoError(t, os.Chmod(o.dir+"/program", 0o777))
	o.happens(1)
	o.works(1)
	assert.Contains(t, o.problems()[0], "/program is writable by other users (mode 0777); run chmod go-w ")
	assert.Empty(t, o.read("args"))
}

func TestMissingProgramIsAProblem(t *testing.T) {
	o := newOffice(t, "")
	require.NoError(t, os.Remove(o.dir+"/program"))
	o.happens(1)
	o.works(1)
	assert.Contains(t, o.problems()[0], "no such file or directory")
}

func TestWithoutAProgramNothingIsRemembered(t *testing.T) {
	o := newOffice(t, "")
	o.happens(1)
	o.Config.Options.NotifyProgram = ""
	assert.Nil(t, first(o.next()))
	o.see()
	assert.Empty(t, o.Notifier.memory.known)
	assert.Empty(t, o.queue)
}

func first(e *Event, _ any) *Event { return e }

func TestStandbyReportsNothingAfterATakeover(t *testing.T) {
	o := newOffice(t, "")
	o.Stood(leader.ErrStandby)
	o.happens(1)
	assert.Empty(t, o.queue)
	o.Stood(nil)
	o.Did(action.DeleteGroup{}, time.Time{}, 0, nil)
	o.happens(2)
	assert.Len(t, o.queue, 2)
}

// The clock was an hour ahead when the daemon started, and was then corrected.
func TestEventsAfterACorrectedClockAreReported(t *testing.T) {
	w := newWorld(t)
	w.restart()
	w.Snap.Now, w.Snap.Begun = w.Snap.Now.Add(time.Hour), w.Snap.Now.Add(time.Hour)
	w.pass()
	w.Snap.Now, w.Snap.Begun = w.Snap.Now.Add(-time.Hour), w.Snap.Now.Add(-time.Hour)
	w.job(slurm.JobConfiguring)
	w.pass()
	w.grant()
	assert.Equal(t, []string{grantedLine}, w.pass())
	w.run()
	assert.Equal(t, []string{runningLine}, w.pass())
}
