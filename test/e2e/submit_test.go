//go:build e2e

package e2e

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/test/lab"
)

// withLua starts a cluster with the job_submit.lua that config lua writes. It starts no machines.
func withLua(t *testing.T) *lab.Lab {
	t.Helper()
	l := cluster(t, lab.Options{NoHooks: true, NodeSets: []lab.NodeSet{
		{Name: "near", Machine: "h4d-standard-192", Size: 24, Keys: []string{"enable_placement: true", "placement_max_distance: 1"}},
	}})
	_, err := l.Flex(context.Background(), "config", "lua", "job_submit", "--output", luaFile(l))
	require.NoError(t, err)
	reconfigure(t, l, readFile(l.Conf())+"\nJobSubmitPlugins=lua\n")
	return l
}

func luaFile(l *lab.Lab) string { return filepath.Join(filepath.Dir(l.Conf()), "job_submit.lua") }

// submitHeld submits a held job and returns the text that its user reads.
func submitHeld(l *lab.Lab, args ...string) (text string, err error) {
	out, err := l.Client(context.Background(), "sbatch", append([]string{"--hold", "--wrap", "true"}, args...)...).CombinedOutput()
	return string(out), err
}

func TestJobSubmitLuaRejectsImpossibleJobsAndWarns(t *testing.T) {
	l := withLua(t)
	for _, c := range []struct {
		args    string
		refused bool
		told    string // empty: no output
	}{
		{"-p train -N8 --gpus-per-node=8 --time=7-0", false, ""},
		{"-N9 --gpus-per-node=8", true, "partition train: the job needs more nodes than there are; use --nodes=8 or fewer"},
		{"-p train --gpus-per-node=8 --time=7-00:01:00", true, "partition train: nodes stay for at most 7-00:00:00; use --time=7-00:00:00 or less"},
		{"-p open --time=61", true, "partition open: nodes stay for at most 01:00:00; use --time=01:00:00 or less"},
		{"-p open --time=61 --time-min=60", false, ""},
		{"-p open --time=UNLIMITED", true, "partition open: nodes stay for at most 01:00:00; use --time=01:00:00 or less"},
		{"-p cpu --time=UNLIMITED --no-requeue", false, ""},
		{"-p near -N23", false, "partition near: at most 22 nodes can be placed close together"},
		{"-p train -N1", false, "partition train: nodes have GPUs, but the job requests none; to use them, add --gpus-per-node=8"},
		{"-p train --gres=gpu:1 --time=60", false, ""},
		{"-p train --gres=gpu:1", false, "partition train: without --time, slurmflex requests machines for the longest time, 7-00:00:00; use --time"},
		{"-p train -n1 --gpus-per-task=8 --time=60", false, ""},
		{"-p open --no-requeue", false, "partition open: with --no-requeue the job ends if it loses a machine"},
		{"-p open,near --time=61", false, "the job can start only in its other partitions; partition open: nodes stay for at most 01:00:00"},
		{"-p open,fixed --time=61 --gpus=1", true, "partition fixed: nodes stay for at most 01:00:00; use --time=01:00:00 or less"},
		{"-p open -N1 : -p open -N5", true, "partition open: the job needs more nodes than there are; use --nodes=4 or fewer"},
		{`-p open --comment="]]%s --job-name=%d'$(true)`, false, ""},
	} {
		out, err := submitHeld(l, strings.Fields(c.args)...)
		assert.Equal(t, c.refused, err != nil, "%s: %s", c.args, out)
		if c.told == "" {
			assert.NotContains(t, out, "partition", c.args)
		} else {
			assert.Contains(t, out, c.told, c.args)
		}
	}
}

func TestFailingJobSubmitLuaAcceptsAllJobs(t *testing.T) {
	l := withLua(t)
	tooLong := []string{"-p", "open", "--time=61"}
	_, err := submitHeld(l, tooLong...)
	require.Error(t, err)
	text := readFile(luaFile(l))
	require.NoError(t, os.WriteFile(luaFile(l), []byte(replaced(t, text, "local nodes =", "local nodes = nil +")), 0o644))
	later := time.Now().Add(2 * time.Second) // slurmctld misses a change in the second in which it read the file
	require.NoError(t, os.Chtimes(luaFile(l), later, later))
	awaitShown(t, time.Minute, "the job to be taken", func() (string, bool) {
		out, err := submitHeld(l, tooLong...)
		return out, err == nil
	})
	assert.Contains(t, readFile(l.Log("slurmctld.log")), "job_submit.lua of slurmflex: ")
}
