//go:build e2e

package e2e

import (
	"bufio"
	"context"
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

const nothingLeft = "down: left behind: 0 instances, 0 groups, 0 requests, 0 policies"

// killedDown runs down and kills it after it has written that many lines, unless it ends earlier.
func killedDown(t *testing.T, l *lab.Lab, lines int) {
	t.Helper()
	cmd := l.Command(context.Background(), nil, "down", "--yes")
	said, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	for text := bufio.NewScanner(said); lines > 0 && text.Scan(); lines-- {
		t.Log(text.Text())
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	t.Log("killed")
}

// undo runs the commands that down has printed for undoing its own changes and those of an earlier
// run.
func undo(t *testing.T, l *lab.Lab, said string) (commands int) {
	t.Helper()
	for line := range strings.Lines(said) {
		if begin, words, ok := strings.Cut(line, ": scontrol "); ok && strings.Contains(begin, "to undo") {
			run(t, l, "scontrol", strings.Fields(words)...)
			commands++
		}
	}
	return commands
}

func TestKilledAndRepeatedDownLeavesOnlyForeignResources(t *testing.T) {
	l := cluster(t, lab.Options{Daemon: true, Static: 1})
	ctx := context.Background()
	addStrangers(t, l)
	run(t, l, "scontrol", "create", "reservation", "reservationname=slurmflex-alpha-b-7", "nodes=alpha-cpu-0", "starttime=now+1hour", "duration=60", "users=root")
	capacity(t, l, "a3-megagpu-8g", 1)
	running := submitScript(t, l, "sleep 600", "-p", "train", "-w", "alpha-a3-0", "--time=15")
	waiting := submitScript(t, l, "sleep 600", "-p", "train", "-w", "alpha-a3-[1-2]", "-N2", "--time=15")
	fixed := submitScript(t, l, "sleep 600", "-p", "open", "-w", "alpha-g2-0", "--time=15", "--no-requeue")
	for _, id := range []string{running, fixed} {
		awaitRunning(t, l, id)
	}
	awaitRequestState(t, l, "alpha-a3-job-"+waiting, "a1", "ACCEPTED")
	awaitUp(t, l, "alpha-st-0")
	assert.Contains(t, slurmflex(t, l, "down", "--dry-run"), "close partition train\n")
	assert.Len(t, state(t, l).Groups, 6, "a dry run changes nothing")

	for range 4 {
		killedDown(t, l, 1+rand.IntN(6))
	}
	said, err := l.Flex(ctx, "down", "--yes")
	require.ErrorContains(t, err, "exit status 1")
	assert.Contains(t, said, "left: job "+fixed+" keeps alpha-g2-0, because Slurm would not requeue it; --drain waits for it, --now cancels it\n")
	assert.Equal(t, "RUNNING", jobField(t, l, fixed, "JobState"))

	all, err := l.Command(ctx, nil, "down", "--now", "--yes").CombinedOutput()
	said = string(all)
	require.NoError(t, err, said)
	assert.True(t, strings.HasSuffix(said, "\n"+nothingLeft+", 0 reservations\n"), said)
	for _, id := range []string{running, waiting} {
		assertPending(t, l, id)
		awaitTold(t, l, time.Minute, id, "taken down|it has no nodes now")
		update(t, l, "jobid="+id, "starttime=now")
	}
	assert.Equal(t, "CANCELLED", jobField(t, l, fixed, "JobState"))
	awaitPasses(t, l, 3)
	awaitStrangersAlone(t, l)
	assert.Contains(t, ask(t, l, "scontrol", "show", "reservation", "-o"), "slurmflex-alpha-b-7")

	assert.Equal(t, 5, undo(t, l, said), "four partitions and the static node")
	awaitUp(t, l, "alpha-st-0")
	awaitRequest(t, l, "alpha-a3-job-"+waiting)
}

func TestDrainedNodesetDoesNotStopTheOthers(t *testing.T) {
	l := withDaemon(t)
	ctx := context.Background()
	update(t, l, "partitionname=open", "nodes=alpha-g2-[0-3],alpha-a3-7")
	over := filepath.Join(l.Dir, "over")
	going := submitScript(t, l, "until [ -e "+over+" ]; do sleep 0.2; done", "-p", "open", "-w", "alpha-g2-0", "--time=15")
	other := submitScript(t, l, "sleep 600", "-p", "train", "-w", "alpha-a3-0", "--time=15")
	for _, id := range []string{going, other} {
		awaitRunning(t, l, id)
	}
	cmd := l.Command(ctx, nil, "down", "--nodeset", "g2", "--drain", "--yes")
	text, err := cmd.StderrPipe()
	require.NoError(t, err)
	var said strings.Builder
	cmd.Stdout = &said
	require.NoError(t, cmd.Start())
	for lines := bufio.NewScanner(text); lines.Scan(); {
		if strings.Contains(lines.Text(), "waiting for job "+going+" to end on alpha-g2-0") {
			require.NoError(t, os.WriteFile(over, nil, 0o644))
		}
	}
	require.NoError(t, cmd.Wait(), &said)
	assert.True(t, strings.HasSuffix(said.String(), "\n"+nothingLeft+", 0 reservations\n"), &said)
	awaitCompleted(t, l, going)
	assert.Equal(t, "RUNNING", jobField(t, l, other, "JobState"))
	drained := submit(t, l, "-p", "open", "-w", "alpha-g2-0", "--time=15")
	next := submit(t, l, "-p", "open", "-w", "alpha-a3-7", "--time=15")
	awaitCompleted(t, l, next)
	assertPending(t, l, drained)
	assert.Equal(t, 2, undo(t, l, said.String()), "partition fixed and the drained nodes")
	awaitCompleted(t, l, drained)
}
