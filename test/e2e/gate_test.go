//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/test/lab"
	"slurmflex/test/must"
)

// gatesOpened counts the gates that the daemon has opened with that outcome.
func gatesOpened(l *lab.Lab, outcome string) int {
	return len(regexp.MustCompile(`gate opened.*`+outcome).FindAllString(readFile(l.Log("daemon.log")), -1))
}

// gates counts the gates that slurmctld runs.
func gates(t *testing.T, l *lab.Lab) (n int) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	require.NoError(t, err)
	for _, file := range files {
		if strings.HasPrefix(readFile(file), l.Dir+"/bin/slurmflex-hook\x00gate\x00") {
			n++
		}
	}
	return n
}

func awaitGates(t *testing.T, l *lab.Lab, n int) {
	t.Helper()
	awaitShown(t, time.Minute, fmt.Sprintf("%d gates to wait", n), func() (string, bool) {
		now := gates(t, l)
		return fmt.Sprint(now), now == n
	})
}

// restart ends slurmctld in good order, and starts it again.
func restart(t *testing.T, l *lab.Lab) {
	t.Helper()
	run(t, l, "scontrol", "shutdown", "slurmctld")
	await(t, time.Minute, "slurmctld to have ended", func() bool {
		_, err := os.Stat(filepath.Join(l.Dir, "state/ctld.pid"))
		return os.IsNotExist(err)
	})
	run(t, l, "slurmctld")
	awaitSlurmctld(t, l)
}

// slurmctld starts a job by itself 15 to 26 s after its nodes are up. The program
// prolog-slurmctld is the site's own.
func TestAJobStartsAtOnceWhenItsGateOpens(t *testing.T) {
	l := cluster(t, lab.Options{Daemon: true, Gate: true})
	must.Do(os.WriteFile(filepath.Join(l.Dir, "bin/prolog-slurmctld"),
		[]byte("#!/bin/sh\necho $SLURM_JOB_ID >>"+l.Log("prolog")+"\n[ $SLURM_JOB_PARTITION != fixed ]\n"), 0o755))
	id := submitScript(t, l, "sleep 1000", "-p", "train", "-N2", "--time=10")
	awaitTheirNodes(t, l, id)
	awaitJob(t, l, time.Minute, id, "JobState", "RUNNING")
	assert.Equal(t, 1, gatesOpened(l, "up"))
	cancelForGood(t, l, id)
	assert.Equal(t, id+"\n", readFile(l.Log("prolog")))

	refused := submit(t, l, "-p", "fixed", "-N1", "--time=10")
	await(t, time.Minute, "the site's own program to refuse the job", func() bool { return jobField(t, l, refused, "Restarts") != "0" })
	cancelForGood(t, l, refused)
	awaitNothingLeft(t, l)
}

// awaitTheirNodes waits until the nodes that a job has been allocated have registered.
func awaitTheirNodes(t *testing.T, l *lab.Lab, id string) {
	t.Helper()
	awaitShown(t, 2*time.Minute, "the nodes of job "+id+" to be up", func() (string, bool) {
		nodes := strings.TrimSpace(ask(t, l, "squeue", "-h", "-j", id, "-o", "%N"))
		if nodes == "" {
			return "no nodes", false
		}
		states := ask(t, l, "scontrol", "show", "node", nodes)
		return states, !regexp.MustCompile("POWERED|POWERING").MatchString(states)
	})
}

// The second component gets its machine long after the first, which has the script.
func TestTheScriptOfAHeterogeneousJobIsNotLostBehindItsGates(t *testing.T) {
	l := cluster(t, lab.Options{Daemon: true, Gate: true})
	mute(t, l, "alpha-g2-0")
	run(t, l, "sbatch", "-o", l.Log("het"), "--time=10", "-p", "train", "-N1", ":", "--time=10", "-p", "fixed", "-N1", "--wrap", "echo done")
	awaitMute(t, l, "alpha-g2-0")
	awaitShown(t, time.Minute, "the first node to be up", func() (string, bool) {
		state := nodeState(t, l, "alpha-a3-0")
		return state, !regexp.MustCompile("POWERED|POWERING").MatchString(state)
	})
	assert.Equal(t, 2, gates(t, l), "the first component waits for the other's nodes")
	mute(t, l, "")
	run(t, l, l.Dir+"/bin/boot", "alpha-g2-0")
	await(t, time.Minute, "the script to run", func() bool { return readFile(l.Log("het")) == "done\n" })
	assert.Equal(t, 2, gatesOpened(l, "up"))
	awaitNothingLeft(t, l)
}

func TestGatesUpToTheMostOutliveWhatHappensToTheirJobsSlurmctldAndTheDaemon(t *testing.T) {
	l := cluster(t, lab.Options{Daemon: true, Gate: true, Keys: "max_gates: 3"})
	capacity(t, l, "a3-megagpu-8g", 0)
	var ids []string
	for range 4 {
		ids = append(ids, submit(t, l, "-p", "train", "-N1", "--time=10"))
	}
	await(t, time.Minute, "one gate to be too many", func() bool { return gatesOpened(l, "full") == 1 })
	awaitGates(t, l, 3)

	reconfigure(t, l)
	restart(t, l)
	for _, id := range ids {
		awaitJob(t, l, time.Minute, id, "JobState", "CONFIGURING")
	}

	require.NoError(t, l.KillDaemon())
	awaitGates(t, l, 0)
	require.NoError(t, l.StartDaemon(context.Background()))
	run(t, l, "scontrol", "requeue", ids[0])
	run(t, l, "scontrol", "update", "jobid="+ids[0], "starttime=now")
	cancel(t, l, ids[1])
	ids = append(ids[:1], ids[2:]...)
	awaitGates(t, l, 1)

	capacity(t, l, "a3-megagpu-8g", 8)
	for _, id := range ids {
		awaitCompleted(t, l, id)
	}
	awaitGates(t, l, 0)
	awaitNothingLeft(t, l)
}
