//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/test/lab"
)

// TestDaemonKilledAtAnyMomentLosesNoJob kills the daemon 108 times at random moments while jobs come, wait
// at Google in one place or in two, start and end. Each job runs once, and nothing is left.
func TestDaemonKilledAtAnyMomentLosesNoJob(t *testing.T) {
	const kills = 108
	l := withDaemon(t,
		lab.NodeSet{Name: "us", Machine: "a3-highgpu-8g", Size: 8, FlexKeys: "use_job_duration: true"},
		lab.NodeSet{Name: "eu", Machine: "a3-ultragpu-8g", Size: 8, FlexKeys: "use_job_duration: true"})
	seed := uint64(time.Now().UnixNano())
	draw := rand.New(rand.NewPCG(seed, 0))
	t.Logf("seed %d", seed)
	ran := filepath.Join(l.Dir, "ran")
	jobs, inTwo := map[string]bool{}, 0
	shapes := [][]string{{"-p", "us", "-N1"}, {"-p", "us", "-N2"}, {"-p", "us,eu", "-N2"}, {"-p", "eu,us", "-N1"}, {"-p", "eu", "-N1", "--array=0-1"}}
	for k := range kills {
		if k%4 == 0 { // capacity comes and goes
			capacity(t, l, "", 16*(k/4%2))
		}
		if waiting := strings.Fields(ask(t, l, "squeue", "-h", "-o", "%i")); len(waiting) < 6 {
			shape := shapes[draw.IntN(len(shapes))]
			id := submitScript(t, l, fmt.Sprintf("echo $SLURM_JOB_ID >>%s; sleep %d", ran, draw.IntN(4)), append(shape, "--time=15")...)
			if strings.Contains(shape[1], ",") {
				inTwo++
			}
			jobs[id] = true
		}
		time.Sleep(time.Duration(draw.IntN(5000)) * time.Millisecond)
		require.NoError(t, l.KillDaemon())
		time.Sleep(time.Duration(draw.IntN(1000)) * time.Millisecond)
		require.NoError(t, l.StartDaemon(t.Context()))
	}
	capacity(t, l, "", 16)
	awaitShown(t, 5*time.Minute, "all jobs to end", func() (string, bool) {
		left := ask(t, l, "squeue", "-h", "-r", "-o", "%i %P %T %r %v")
		return left, left == ""
	})
	times := map[string]int{}
	for _, id := range strings.Fields(readFile(ran)) {
		times[id]++
	}
	for id, n := range times {
		assert.Equal(t, 1, n, "job %s ran more than once", id)
	}
	assert.GreaterOrEqual(t, len(times), len(jobs), "each job and each task has an ID of its own")
	for id := range jobs {
		assert.Equal(t, 1, times[id], "job %s has run", id)
	}
	t.Logf("%d kills, %d jobs, of which %d in two places", kills, len(jobs), inTwo)
	assert.NotContains(t, readFile(l.Log("daemon.log")), "panic")
	awaitNothingLeft(t, l)
}

// A2: a late or manual call, while neither a daemon nor a pass can handle it.
func TestUnhandledResumeKeepsTheNodesOfARunningJob(t *testing.T) {
	l := withDaemon(t)
	id := submitScript(t, l, "sleep 600", "-p", "train", "-N2", "--time=15")
	awaitRunning(t, l, id)
	require.NoError(t, l.StopDaemon())
	require.NoError(t, os.Chmod(filepath.Join(l.Dir, "run"), 0o755))
	_, err := l.Flex(context.Background(), "resume", "alpha-a3-[0-1]")
	require.ErrorContains(t, err, "daemon not reachable")
	assert.Equal(t, "RUNNING", jobField(t, l, id, "JobState"))
	for _, node := range []string{"alpha-a3-0", "alpha-a3-1"} {
		assert.NotContains(t, nodeState(t, l, node), "POWERING_DOWN")
	}
}
