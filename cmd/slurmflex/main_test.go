package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// beProgram in the environment makes the test binary run as slurmflex, both when a test starts it
// and when it starts itself for a detached pass.
const beProgram = "SLURMFLEX_RUN_MAIN=1"

// syslogSocketOf is the environment variable for another syslog socket.
const syslogSocketOf = "SLURMFLEX_TEST_SYSLOG"

func TestMain(m *testing.M) {
	if slices.Contains(os.Environ(), beProgram) {
		syscall.Exit(run(&app{syslog: cmp.Or(os.Getenv(syslogSocketOf), "/dev/null")})) // os.Exit of a race-detecting binary takes a second
	}
	os.Exit(m.Run())
}

// slack is how long a test waits for an expected event.
const slack = time.Minute

// process is one run of slurmflex.
type process struct {
	*exec.Cmd
	testing.TB
	stdout, stderr bytes.Buffer
	alive          *os.File // reports end of file when the last process started by the run has ended
	held           *os.File // the other end of the pipe, inherited by all these processes
}

// prepare prepares a program with only the given environment, plus beProgram.
func prepare(t testing.TB, env []string, program string, args ...string) *process {
	t.Helper()
	r := &process{TB: t, Cmd: exec.CommandContext(t.Context(), program, args...)}
	r.Env = append([]string{beProgram}, env...)
	r.Stdout, r.Stderr = &r.stdout, &r.stderr
	var err error
	r.alive, r.held, err = os.Pipe()
	require.NoError(t, err)
	r.ExtraFiles = []*os.File{r.held}
	t.Cleanup(func() {
		r.held.Close()
		r.settle()
		r.alive.Close()
	})
	return r
}

// exits runs the process to its end, or waits for its end if it is running, and checks the exit
// code. Its child processes may continue.
func (r *process) exits(code int) *process {
	r.Helper()
	if r.Process == nil {
		require.NoError(r, r.Start())
	}
	_ = r.Wait() // the exit code is checked
	require.Equal(r, code, r.ProcessState.ExitCode(), "stdout: %sstderr: %s", &r.stdout, &r.stderr)
	return r
}

// settle waits until every process started by the run has ended.
func (r *process) settle() {
	r.Helper()
	r.held.Close()
	require.NoError(r, r.alive.SetReadDeadline(time.Now().Add(slack)))
	_, err := io.ReadAll(r.alive)
	require.NoError(r, err, "a process is left behind")
}

// saysNothing asserts that the output is empty.
func (r *process) saysNothing() {
	r.Helper()
	assert.Empty(r, r.stdout.String())
	assert.Empty(r, r.stderr.String())
}

// isQuiet asserts that stderr is empty.
func (r *process) isQuiet() {
	r.Helper()
	assert.Empty(r, r.stderr.String())
}

// printed asserts that stdout is the text.
func (r *process) printed(text string) {
	r.Helper()
	assert.Equal(r, text, r.stdout.String())
}

// decodes reads stdout, which must be one JSON object without unknown fields.
func (r *process) decodes(into any) {
	r.Helper()
	decoder := json.NewDecoder(strings.NewReader(r.stdout.String()))
	decoder.DisallowUnknownFields()
	require.NoError(r, decoder.Decode(into), "%s: %s", r, &r.stdout)
	assert.False(r, decoder.More(), "%s: it is one object", r)
}

// shows asserts that stdout contains the words.
func (r *process) shows(words string) {
	r.Helper()
	assert.Contains(r, r.stdout.String(), words)
}

// reports asserts that stderr contains the words.
func (r *process) reports(words string) {
	r.Helper()
	assert.Contains(r, r.stderr.String(), words)
}

// signal sends a signal to the process.
func (r *process) signal(s os.Signal) {
	r.Helper()
	require.NoError(r, r.Process.Signal(s))
}

// stops ends a daemon.
func (r *process) stops() {
	r.Helper()
	r.signal(unix.SIGTERM)
	r.exits(exitDone).settle()
}

// complains asserts that stderr is one line that contains all the words.
func (r *process) complains(words ...string) {
	r.Helper()
	requireLine(r.TB, r.stderr.String(), words...)
	assert.True(r, strings.HasPrefix(r.stderr.String(), "slurmflex: "), "%s", &r.stderr)
}

func requireLine(t testing.TB, text string, words ...string) {
	t.Helper()
	require.Equal(t, 1, strings.Count(text, "\n"), "one line: %s", text)
	require.True(t, strings.HasSuffix(text, "\n"), "one line: %s", text)
	contains(t, text, words...)
}

// contains checks that a text contains all the words.
func contains(t testing.TB, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		assert.Contains(t, text, w)
	}
}
