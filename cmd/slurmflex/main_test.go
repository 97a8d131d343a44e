package main

import (
	"bytes"
	"cmp"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// beProgram in the environment makes the test binary slurmflex: as a test
// starts it, and as it starts itself for a detached pass.
const beProgram = "SLURMFLEX_RUN_MAIN=1"

// syslogSocketOf is the variable that names another socket of syslog.
const syslogSocketOf = "SLURMFLEX_TEST_SYSLOG"

func TestMain(m *testing.M) {
	name, value, _ := strings.Cut(beProgram, "=")
	if os.Getenv(name) == value {
		syscall.Exit(run(&app{syslog: cmp.Or(os.Getenv(syslogSocketOf), "/dev/null")})) // os.Exit of a race-detecting binary takes a second
	}
	os.Exit(m.Run())
}

// slack is how long a test waits for what must come.
const slack = time.Minute

// process is one run of slurmflex.
type process struct {
	*exec.Cmd
	stdout, stderr bytes.Buffer
	alive          *os.File // ends when the last process that the run began has
	held           *os.File // its other end, inherited by all of them
}

// prepare prepares a program with only the given environment, and what makes
// the test binary slurmflex.
func prepare(t *testing.T, env []string, program string, args ...string) *process {
	t.Helper()
	r := &process{Cmd: exec.CommandContext(t.Context(), program, args...)}
	r.Env = append([]string{beProgram}, env...)
	r.Stdout, r.Stderr = &r.stdout, &r.stderr
	var err error
	r.alive, r.held, err = os.Pipe()
	require.NoError(t, err)
	r.ExtraFiles = []*os.File{r.held}
	t.Cleanup(func() {
		r.held.Close()
		r.settle(t)
		r.alive.Close()
	})
	return r
}

// exits runs it to its end, or waits for its end if it is under way, and
// checks the exit code. What the run has begun may go on.
func (r *process) exits(t *testing.T, code int) *process {
	t.Helper()
	if r.Process == nil {
		require.NoError(t, r.Start())
	}
	_ = r.Wait() // its exit code is checked
	require.Equal(t, code, r.ProcessState.ExitCode(), "stdout: %sstderr: %s", &r.stdout, &r.stderr)
	return r
}

// settle waits until every process that the run began has ended.
func (r *process) settle(t *testing.T) {
	t.Helper()
	r.held.Close()
	require.NoError(t, r.alive.SetReadDeadline(time.Now().Add(slack)))
	_, err := io.ReadAll(r.alive)
	require.NoError(t, err, "a process is left behind")
}

// saysNothing checks that nothing was printed.
func (r *process) saysNothing(t *testing.T) {
	t.Helper()
	assert.Empty(t, r.stdout.String())
	assert.Empty(t, r.stderr.String())
}

// complains checks that stderr is one line, with all of the words.
func (r *process) complains(t *testing.T, words ...string) {
	t.Helper()
	requireLine(t, r.stderr.String(), words...)
	assert.True(t, strings.HasPrefix(r.stderr.String(), "slurmflex: "), "%s", &r.stderr)
}

func requireLine(t *testing.T, text string, words ...string) {
	t.Helper()
	require.Equal(t, 1, strings.Count(text, "\n"), "one line: %s", text)
	require.True(t, strings.HasSuffix(text, "\n"), "one line: %s", text)
	for _, w := range words {
		assert.Contains(t, text, w)
	}
}
