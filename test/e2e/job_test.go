//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/slurm"
	"slurmflex/test/fakegce"
	"slurmflex/test/lab"
)

func TestAnExclusiveJobGetsItsNodesRunsAndLeavesNothingBehind(t *testing.T) {
	l := cluster(t, lab.Options{Daemon: true})
	id := submit(t, l, "-p", "train", "-N2", "--time=15")
	request := awaitRequest(t, l, "alpha-a3-job-"+id)
	assert.Len(t, request.Instances, 2)
	assert.Equal(t, 15*time.Minute, request.Duration, "use_job_duration: the job's TimeLimit")
	awaitCompleted(t, l, id)
	awaitNothingLeft(t, l)
}

func TestAJobInANodesetWithoutUseJobDurationGetsTheMaximum(t *testing.T) {
	l := cluster(t, lab.Options{Daemon: true})
	id := submit(t, l, "-p", "fixed", "-N1", "--time=15")
	request := awaitRequest(t, l, "alpha-g2-job-"+id)
	assert.Equal(t, time.Hour, request.Duration, "max_run_duration")
	awaitCompleted(t, l, id)
	awaitNothingLeft(t, l)
}

func TestTwoJobsAtOnceGetAGroupEach(t *testing.T) {
	l := cluster(t, lab.Options{Daemon: true})
	first := submit(t, l, "-p", "train", "-N2", "--time=15")
	second := submit(t, l, "-p", "train", "-N3", "--time=20")
	one, two := awaitRequest(t, l, "alpha-a3-job-"+first), awaitRequest(t, l, "alpha-a3-job-"+second)
	assert.Len(t, one.Instances, 2)
	assert.Len(t, two.Instances, 3)
	assert.Equal(t, 20*time.Minute, two.Duration)
	awaitCompleted(t, l, first)
	awaitCompleted(t, l, second)
	awaitNothingLeft(t, l)
}

func TestTheSameWithoutADaemon(t *testing.T) {
	l := cluster(t, lab.Options{})
	id := submit(t, l, "-p", "train", "-N2", "--time=15")
	request := awaitRequest(t, l, "alpha-a3-job-"+id)
	assert.Equal(t, 15*time.Minute, request.Duration)
	awaitCompleted(t, l, id)
	awaitNothingLeft(t, l)
}

func TestTheSameWithSlurmctldAsUserSlurm(t *testing.T) {
	for name, daemon := range map[string]bool{"with a daemon": true, "without a daemon": false} {
		t.Run(name, func(t *testing.T) {
			l := cluster(t, lab.Options{User: "slurm", Daemon: daemon})
			id := submit(t, l, "-p", "train", "-N2", "--time=15")
			awaitRequest(t, l, "alpha-a3-job-"+id)
			awaitCompleted(t, l, id)
			awaitNothingLeft(t, l)
		})
	}
}

func TestAJobCancelledWhileItsRequestWaitsCostsNothing(t *testing.T) {
	l := cluster(t, lab.Options{Daemon: true})
	ctx := context.Background()
	require.NoError(t, l.Tell(ctx, "capacity", map[string]any{"zone": "", "machineType": "", "count": 0}))
	id := submit(t, l, "-p", "train", "-N2", "--time=15")
	awaitRequest(t, l, "alpha-a3-job-"+id)
	_, err := l.Slurm(ctx, "scancel", id)
	require.NoError(t, err)
	awaitNothingLeft(t, l)
	assert.Empty(t, booted(t, l), "no VM was ever made")
}

func TestANodePoweredUpByHandGetsARequestOfItsOwnAndGoesWhenPoweredDown(t *testing.T) {
	l := cluster(t, lab.Options{Daemon: true})
	ctx := context.Background()
	_, err := l.Slurm(ctx, "scontrol", "update", "nodename=alpha-a3-5", "state=power_up")
	require.NoError(t, err)
	request := awaitRequest(t, l, "alpha-a3-node-5")
	assert.Equal(t, []string{"alpha-a3-5"}, request.Instances)
	await(t, 60*time.Second, "the node to be up", func() bool { return nodeState(t, l, "alpha-a3-5") == "IDLE+CLOUD" })
	_, err = l.Slurm(ctx, "scontrol", "update", "nodename=alpha-a3-5", "state=power_down_force")
	require.NoError(t, err)
	awaitNothingLeft(t, l)
}

func TestNodesOfOtherNodesetsGoToTheDelegate(t *testing.T) {
	l := cluster(t, lab.Options{Daemon: true})
	_, err := l.Slurm(context.Background(), "scontrol", "update", "nodename=alpha-cpu-[0-1]", "state=power_up")
	require.NoError(t, err)
	await(t, 20*time.Second, "the delegate to be called", func() bool {
		text := readFile(l.Log("delegate.log"))
		return strings.Contains(text, "/bin/delegate alpha-cpu-[0-1]")
	})
	assert.Empty(t, state(t, l).Groups)
}

// submit submits a batch job that runs on every node of its allocation.
func submit(t *testing.T, l *lab.Lab, args ...string) string {
	t.Helper()
	args = append([]string{"--parsable", "-o", "/dev/null"}, args...)
	out, err := l.Slurm(context.Background(), "sbatch", append(args, "--wrap", "srun hostname; sleep 1")...)
	require.NoError(t, err)
	return strings.TrimSpace(out)
}

func awaitRequest(t *testing.T, l *lab.Lab, group string) fakegce.Request {
	t.Helper()
	var found fakegce.Request
	await(t, 30*time.Second, "a resize request in "+group, func() bool {
		g, ok := state(t, l).Group(group)
		if ok && len(g.Requests) > 0 {
			found = g.Requests[0]
		}
		return ok && len(g.Requests) > 0
	})
	return found
}

func awaitCompleted(t *testing.T, l *lab.Lab, id string) {
	t.Helper()
	var last string
	defer func() {
		if t.Failed() {
			t.Logf("the job's last state: %s", last)
		}
	}()
	await(t, 120*time.Second, "job "+id+" to complete", func() bool {
		out, err := l.Slurm(context.Background(), "scontrol", "show", "job", id, "-o")
		last = jobStateForm.FindString(out)
		return err == nil && last == "JobState=COMPLETED"
	})
}

var jobStateForm = regexp.MustCompile(`JobState=\w+`)

// awaitNothingLeft waits until the cloud holds nothing and Slurm shows every
// flex node powered down.
func awaitNothingLeft(t *testing.T, l *lab.Lab) {
	t.Helper()
	left := ""
	defer func() {
		if t.Failed() {
			t.Log(left)
		}
	}()
	await(t, 60*time.Second, "nothing to be left behind", func() bool {
		s := state(t, l)
		down := 0
		for _, n := range flexNodes(t, l) {
			if n.State.Has(slurm.PoweredDown) && n.State.Base == slurm.Idle {
				down++
			}
		}
		left = fmt.Sprintf("%d instances, %d groups left; %d of 12 nodes powered down", len(s.Instances), len(s.Groups), down)
		return len(s.Instances) == 0 && len(s.Groups) == 0 && down == 12
	})
}

func flexNodes(t *testing.T, l *lab.Lab) []slurm.Node {
	t.Helper()
	out, err := l.Slurm(context.Background(), "scontrol", "show", "nodes", "-o")
	require.NoError(t, err)
	all, err := slurm.ParseNodes([]byte(out))
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

// booted returns the names of the instances that slurmds were started for.
func booted(t *testing.T, l *lab.Lab) []string {
	t.Helper()
	var calls []fakegce.Call
	require.NoError(t, l.Ask(context.Background(), "calls", &calls))
	require.NotEmpty(t, calls)
	var names []string
	for _, n := range flexNodes(t, l) {
		if readFile(l.Log("slurmd-"+n.Name+".log")) != "" {
			names = append(names, n.Name)
		}
	}
	return names
}

func state(t *testing.T, l *lab.Lab) fakegce.State {
	t.Helper()
	var s fakegce.State
	require.NoError(t, l.Ask(context.Background(), "state", &s))
	return s
}

func await(t *testing.T, limit time.Duration, what string, yes func() bool) {
	t.Helper()
	require.NoError(t, lab.Until(context.Background(), limit, what, func() (bool, error) { return yes(), nil }))
}
