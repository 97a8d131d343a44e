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
	"google.golang.org/api/compute/v1"

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

// requireStrangers asserts that the cloud contains exactly the resources that are not ours.
func requireStrangers(t *testing.T, l *lab.Lab, groups ...string) {
	t.Helper()
	s := state(t, l)
	var there []string
	for _, g := range s.Groups {
		there = append(there, g.Name)
	}
	require.ElementsMatch(t, groups, there)
	require.Len(t, s.Instances, 1)
	require.Equal(t, "alpha-b-a3-0", s.Instances[0].Name)
	require.Empty(t, s.Policies)
}

func TestKilledAndRepeatedDownLeavesOnlyForeignResources(t *testing.T) {
	l := cluster(t, lab.Options{Daemon: true, Static: 1, NodeSets: []lab.NodeSet{
		{Name: "near", Machine: "h4d-standard-192", Size: 2, Keys: []string{"enable_placement: true"}, FlexKeys: "use_job_duration: true"},
	}})
	ctx := context.Background()
	const beta, bare = "alpha-b-job-7", "alpha-a3-job-999"
	mute(t, l, "alpha-(near|b)-.*")
	createGroup(t, l, beta, `{"slurmflex":1,"cluster":"alpha-b","nodeset":"a3","job":7}`, "g2")
	createGroup(t, l, bare, "", "g2")
	create(t, l, "instanceGroupManagers/"+beta+"/resizeRequests", &compute.InstanceGroupManagerResizeRequest{
		Name: "a1", Instances: []*compute.PerInstanceConfig{{Name: "alpha-b-a3-0"}}, RequestedRunDuration: &compute.Duration{Seconds: 600},
	})
	run(t, l, "scontrol", "create", "reservation", "reservationname=slurmflex-alpha-b-7", "nodes=alpha-cpu-0", "starttime=now+1hour", "duration=60", "users=root")
	capacity(t, l, "a3-megagpu-8g", 1)
	running := submitScript(t, l, "sleep 600", "-p", "train", "-w", "alpha-a3-0", "--time=15")
	waiting := submitScript(t, l, "sleep 600", "-p", "train", "-w", "alpha-a3-[1-2]", "-N2", "--time=15")
	booting := submitScript(t, l, "sleep 600", "-p", "near", "-w", "alpha-near-0", "--time=15")
	fixed := submitScript(t, l, "sleep 600", "-p", "open", "-w", "alpha-g2-0", "--time=15", "--no-requeue")
	for _, id := range []string{running, fixed} {
		awaitJob(t, l, 90*time.Second, id, "JobState", "RUNNING")
	}
	awaitMute(t, l, "alpha-b-a3-0", "alpha-near-0")
	awaitRequestState(t, l, "alpha-a3-job-"+waiting, "a1", "ACCEPTED")
	awaitUp(t, l, "alpha-st-0")
	await(t, time.Minute, "a reservation for the end of leases", func() bool {
		return strings.Contains(ask(t, l, "scontrol", "show", "reservation", "-o"), "slurmflex-alpha-1")
	})
	require.Len(t, state(t, l).Policies, 1)

	steps, err := l.Flex(ctx, "down", "--dry-run")
	require.NoError(t, err)
	assert.Contains(t, steps, "close partition train\n")
	assert.Contains(t, steps, "delete group alpha-near-job-"+booting+", once ")
	assert.Len(t, state(t, l).Groups, 7, "a dry run changes nothing")
	_, err = l.Flex(ctx, "down")
	require.ErrorContains(t, err, "exit status 2: slurmflex: no terminal to ask for the cluster's name; to take it down without being asked: --yes")

	for range 4 {
		killedDown(t, l, 1+rand.IntN(6))
	}
	said, err := l.Flex(ctx, "down", "--yes")
	require.ErrorContains(t, err, "exit status 1")
	assert.Contains(t, said, "left: job "+fixed+" keeps alpha-g2-0, because Slurm would not requeue it; --drain waits for it, --now cancels it\n")
	assert.Contains(t, said, "\ndown: left behind: 1 instance, 1 group, 0 requests, 0 policies, 1 reservation\n")
	assert.Equal(t, "RUNNING", jobField(t, l, fixed, "JobState"))
	awaitTold(t, l, time.Minute, fixed, "taken down")

	all, err := l.Command(ctx, nil, "down", "--now", "--yes").CombinedOutput()
	said = string(all)
	require.NoError(t, err, said)
	assert.True(t, strings.HasSuffix(said, "\n"+nothingLeft+", 0 reservations\n"), said)
	for _, id := range []string{running, waiting, booting} {
		assert.Equal(t, "PENDING", jobField(t, l, id, "JobState"))
		awaitTold(t, l, time.Minute, id, "taken down|it has no nodes now")
	}
	assert.Equal(t, "CANCELLED", jobField(t, l, fixed, "JobState"))
	requireStrangers(t, l, beta, bare)
	assert.Contains(t, ask(t, l, "scontrol", "show", "reservation", "-o"), "slurmflex-alpha-b-7")
	for _, id := range []string{running, waiting} {
		update(t, l, "jobid="+id, "starttime=now")
	}
	awaitPasses(t, l, 3)
	requireStrangers(t, l, beta, bare)

	assert.Equal(t, 6, undo(t, l, said), "five partitions and the static node")
	awaitUp(t, l, "alpha-st-0")
	awaitRequest(t, l, "alpha-a3-job-"+waiting)

	_, _ = l.Slurm(ctx, "scontrol", "shutdown") // 26.05 ends before it answers
	await(t, time.Minute, "slurmctld to end", func() bool {
		out, _ := l.Slurm(ctx, "scontrol", "ping")
		return strings.Contains(out, " is DOWN")
	})
	_, err = l.Flex(ctx, "down", "--yes")
	require.ErrorContains(t, err, "to take down a cluster without slurmctld: slurmflex down --now")
	said, err = l.Flex(ctx, "down", "--now", "--yes")
	require.NoError(t, err)
	assert.Equal(t, nothingLeft+"; reservations unknown\n", said)
	requireStrangers(t, l, beta, bare)
}

func TestDrainedNodesetDoesNotStopTheOthers(t *testing.T) {
	l := withDaemon(t)
	ctx := context.Background()
	update(t, l, "partitionname=open", "nodes=alpha-g2-[0-3],alpha-a3-7")
	over := filepath.Join(l.Dir, "over")
	going := submitScript(t, l, "until [ -e "+over+" ]; do sleep 0.2; done", "-p", "open", "-w", "alpha-g2-0", "--time=15")
	other := submitScript(t, l, "sleep 600", "-p", "train", "-w", "alpha-a3-0", "--time=15")
	for _, id := range []string{going, other} {
		awaitJob(t, l, 90*time.Second, id, "JobState", "RUNNING")
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
	assert.Equal(t, "PENDING", jobField(t, l, drained, "JobState"))
	assert.Equal(t, 2, undo(t, l, said.String()), "partition fixed and the drained nodes")
	awaitCompleted(t, l, drained)
}
