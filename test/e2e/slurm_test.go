//go:build e2e

package e2e

import (
	"context"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/slurm"
	"slurmflex/test/lab"
)

// submit submits a batch job that runs on every node of its allocation.
func submit(t *testing.T, l *lab.Lab, args ...string) string {
	t.Helper()
	return submitScript(t, l, "srun hostname; sleep 1", args...)
}

func submitScript(t *testing.T, l *lab.Lab, script string, args ...string) string {
	t.Helper()
	args = append([]string{"--parsable", "-o", "/dev/null"}, args...)
	return strings.TrimSpace(run(t, l, "sbatch", append(args, "--wrap", script)...))
}

// run runs one of Slurm's commands and returns its output.
func run(t *testing.T, l *lab.Lab, command string, args ...string) string {
	t.Helper()
	out, err := l.Slurm(context.Background(), command, args...)
	require.NoError(t, err)
	return out
}

// slurmflex runs a command of slurmflex and returns its output.
func slurmflex(t *testing.T, l *lab.Lab, args ...string) string {
	t.Helper()
	out, err := l.Flex(context.Background(), args...)
	require.NoError(t, err, out)
	return out
}

// longSilence is the longest time that slurmctld may take to answer. Debian's slurmctld may look up the
// names of nodes that are about to be powered down. It tries each name for 10 s, and answers nothing
// meanwhile (24.11).
const longSilence = 4 * time.Minute

// ask runs a command that may be repeated, such as a read-only command.
func ask(t *testing.T, l *lab.Lab, command string, args ...string) (out string) {
	t.Helper()
	require.NoError(t, lab.Until(context.Background(), longSilence, command+" to answer", func() (bool, error) {
		var err error
		out, err = l.Slurm(context.Background(), command, args...)
		return err == nil, err
	}))
	return out
}

// update changes a job, a node or a reservation: update(t, l, "jobid=7", "timelimit=30").
func update(t *testing.T, l *lab.Lab, args ...string) {
	t.Helper()
	run(t, l, "scontrol", append([]string{"update"}, args...)...)
}

func cancel(t *testing.T, l *lab.Lab, ids ...string) {
	t.Helper()
	ask(t, l, "scancel", ids...)
}

// jobField returns the value of a key in scontrol show job, up to the next key.
func jobField(t *testing.T, l *lab.Lab, id, key string) string {
	t.Helper()
	out := ask(t, l, "scontrol", "show", "job", id, "-o")
	found := regexp.MustCompile(` ` + key + `=(.*?)(?: [A-Z][A-Za-z_/:]*=|\s*$)`).FindStringSubmatch(out)
	if found == nil {
		return ""
	}
	return found[1]
}

// awaitJob waits until a job shows a value for a key.
func awaitJob(t *testing.T, l *lab.Lab, limit time.Duration, id, key, value string) {
	t.Helper()
	awaitShown(t, limit, "job "+id+" to show "+key+"="+value, func() (string, bool) {
		shown := jobField(t, l, id, key)
		return shown, shown == value
	})
}

// awaitTold waits until a job's AdminComment matches a pattern.
func awaitTold(t *testing.T, l *lab.Lab, limit time.Duration, id, pattern string) {
	t.Helper()
	form := regexp.MustCompile(pattern)
	awaitShown(t, limit, "the owner of job "+id+" to be notified: "+pattern, func() (string, bool) {
		comment := jobField(t, l, id, "AdminComment")
		return comment, strings.HasPrefix(comment, "flex-start: ") && form.MatchString(comment)
	})
}

func awaitRunning(t *testing.T, l *lab.Lab, id string) {
	t.Helper()
	awaitJob(t, l, 2*time.Minute, id, "JobState", "RUNNING")
}

func awaitCompleted(t *testing.T, l *lab.Lab, id string) {
	t.Helper()
	awaitJob(t, l, 150*time.Second, id, "JobState", "COMPLETED")
}

func assertPending(t *testing.T, l *lab.Lab, id string) {
	t.Helper()
	assert.Equal(t, "PENDING", jobField(t, l, id, "JobState"), id)
}

func assertNotRequeued(t *testing.T, l *lab.Lab, id string) {
	t.Helper()
	assert.Equal(t, "0", jobField(t, l, id, "Restarts"), id)
}

// awaitDone waits until a job has completed in its first run and all its resources are deleted.
func awaitDone(t *testing.T, l *lab.Lab, id string) {
	t.Helper()
	awaitCompleted(t, l, id)
	assertNotRequeued(t, l, id)
	awaitNothingLeft(t, l)
}

// cancelForGood cancels jobs and waits until all their resources are deleted.
func cancelForGood(t *testing.T, l *lab.Lab, ids ...string) {
	t.Helper()
	cancel(t, l, ids...)
	awaitNothingLeft(t, l)
}

func flexNodes(t *testing.T, l *lab.Lab) []slurm.Node {
	t.Helper()
	all, err := slurm.ParseNodes([]byte(ask(t, l, "scontrol", "show", "nodes", "-o")))
	require.NoError(t, err)
	var flex []slurm.Node
	for _, n := range all {
		if !strings.HasPrefix(n.Name, "alpha-cpu-") {
			flex = append(flex, n)
		}
	}
	return flex
}

func nodeState(t *testing.T, l *lab.Lab, name string) string {
	t.Helper()
	for _, n := range flexNodes(t, l) {
		if n.Name == name {
			return n.State.String()
		}
	}
	return "unknown to Slurm"
}

func awaitUp(t *testing.T, l *lab.Lab, node string) {
	t.Helper()
	awaitShown(t, 2*time.Minute, "node "+node+" to be up", func() (string, bool) {
		state := nodeState(t, l, node)
		return state, state == "IDLE+CLOUD"
	})
}

func await(t *testing.T, limit time.Duration, what string, yes func() bool) {
	t.Helper()
	require.NoError(t, lab.Until(context.Background(), limit, what, func() (bool, error) { return yes(), nil }))
}

// awaitShown waits as await does, and on failure prints the last output.
func awaitShown(t *testing.T, limit time.Duration, what string, see func() (shown string, yes bool)) {
	t.Helper()
	last := ""
	err := lab.Until(context.Background(), limit, what, func() (yes bool, _ error) {
		last, yes = see()
		return yes, nil
	})
	require.NoError(t, err, "last seen: %s", last)
}
