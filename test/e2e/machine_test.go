//go:build e2e

package e2e

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/test/fakegce"
	"slurmflex/test/lab"
)

// mute has the machines of these nodes run without a slurmd from now on, and no
// others.
func mute(t *testing.T, l *lab.Lab, nodes string) {
	t.Helper()
	require.NoError(t, l.Mute(nodes))
}

// awaitMute waits until machines of these nodes run without a slurmd.
func awaitMute(t *testing.T, l *lab.Lab, nodes ...string) {
	t.Helper()
	await(t, time.Minute, "mute machines", func() bool {
		mute := strings.Fields(readFile(l.Log("mute.log")))
		slices.Sort(mute)
		return slices.Equal(mute, nodes)
	})
}

func TestAMachineThatStopsBeforeItsJobBeginsIsReplacedAndNoOther(t *testing.T) {
	l := cluster(t, lab.Options{Daemon: true})
	id, before := halfUp(t, l)
	tell(t, l, "vms/alpha-a3-0/stop", nil)
	again := awaitRequestState(t, l, "alpha-a3-job-"+id, "a2", "SUCCEEDED")
	assert.Equal(t, []string{"alpha-a3-0"}, again.Instances)
	kept, _ := state(t, l).Instance("alpha-a3-1")
	assert.Equal(t, before.Created, kept.Created)
	awaitDoneAtOnce(t, l, id)
}

func TestAJobWhoseMachineVanishesBeforeItBeginsIsRequeuedAtResumeTimeoutAndRuns(t *testing.T) {
	l := cluster(t, lab.Options{Daemon: true, ResumeTimeout: 40})
	id, _ := halfUp(t, l)
	tell(t, l, "vms/alpha-a3-0/delete", nil)
	awaitJob(t, l, 90*time.Second, id, "Reason", "BeginTime")
	assert.Equal(t, "1", jobField(t, l, id, "Restarts"))
	update(t, l, "jobid="+id, "starttime=now")
	awaitDone(t, l, id)
}

// halfUp has a job wait for the first of its two nodes, alpha-a3-0, whose
// machine is mute, and returns the machine of the other. Later machines register.
func halfUp(t *testing.T, l *lab.Lab) (id string, other fakegce.Instance) {
	t.Helper()
	mute(t, l, "alpha-a3-0")
	id = submit(t, l, "-p", "train", "-w", "alpha-a3-[0-1]", "-N2", "--time=15")
	awaitMute(t, l, "alpha-a3-0")
	mute(t, l, "")
	await(t, time.Minute, "the other machine to register", func() bool {
		return !strings.Contains(nodeState(t, l, "alpha-a3-1"), "POWERING_UP")
	})
	other, _ = state(t, l).Instance("alpha-a3-1")
	return id, other
}

func TestOnAMachineThatIsGoneTheJobIsRequeuedAndNothingIsLeft(t *testing.T) {
	l := cluster(t, lab.Options{Daemon: true})
	id := submit(t, l, "-p", "train", "-N2", "--time=15", "--begin=now")
	await(t, 60*time.Second, "two instances", func() bool { return len(state(t, l).Instances) == 2 })
	await(t, 60*time.Second, "the nodes to be up", func() bool {
		return !strings.Contains(nodeState(t, l, state(t, l).Instances[0].Name), "POWERING_UP")
	})
	tell(t, l, "vms/"+state(t, l).Instances[0].Name+"/delete", nil)
	cancelForGood(t, l, id)
}

func TestNodesThatNeverRegisterAreReturnedAndTheirNodesetIsBlocked(t *testing.T) {
	l := cluster(t, lab.Options{Daemon: true, FlexKeys: "boot_timeout: 5, boot_failures: 1"})
	mute(t, l, ".*")
	id := submit(t, l, "-p", "train", "-N1", "--time=15")
	awaitJob(t, l, time.Minute, id, "Restarts", "1")
	await(t, 60*time.Second, "the machine to be gone", func() bool { return len(state(t, l).Instances) == 0 })
	next := submit(t, l, "-p", "train", "-N1", "--time=15")
	awaitTold(t, l, time.Minute, next, `slurmflex unblock a3`)
	_, err := l.Flex(context.Background(), "unblock", "a3")
	require.NoError(t, err)
	awaitRequest(t, l, "alpha-a3-job-"+next)
	cancelForGood(t, l, id, next)
}
