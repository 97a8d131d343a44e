//go:build e2e

package e2e

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/test/lab"
)

func TestAJobWhoseRequestCanNeverSucceedIsHeldAndToldWhy(t *testing.T) {
	l := cluster(t, lab.Options{Daemon: true})
	shut(t, l)
	id := submit(t, l, "-p", "train", "-N2", "--time=15")
	fail(t, l, "alpha-a3-job-"+id, "a1", "CONDITION_NOT_MET", "Constraint constraints/compute.vmExternalIpAccess violated.")
	awaitJob(t, l, time.Minute, id, "Reason", "JobHeldAdmin")
	assert.Contains(t, jobField(t, l, id, "AdminComment"), "vmExternalIpAccess")
	cancel(t, l, id)
	awaitNothingLeft(t, l)
}

func TestAfterAFailureForCapacityTheNextAttemptComesAMinuteLater(t *testing.T) {
	l := cluster(t, lab.Options{Daemon: true})
	shut(t, l)
	id := submit(t, l, "-p", "train", "-N2", "--time=15")
	group := "alpha-a3-job-" + id
	fail(t, l, group, "a1", "RESOURCE_POOL_EXHAUSTED", "The zone does not have enough resources available.")
	awaitTold(t, l, 30*time.Second, id, `attempt 1 failed .*enough resources`)
	assert.Equal(t, "CONFIGURING", jobField(t, l, id, "JobState"), "it keeps its nodes meanwhile")
	second := awaitRequestState(t, l, group, "a2", "ACCEPTED")
	first := awaitRequestState(t, l, group, "a1", "FAILED")
	assert.GreaterOrEqual(t, second.Created.Sub(first.Created), time.Minute)
	capacity(t, l, "", 2)
	awaitCompleted(t, l, id)
	assert.Equal(t, "0", jobField(t, l, id, "Restarts"))
	awaitNothingLeft(t, l)
}

func TestAJobWhoseAttemptsAreUsedUpIsRequeuedAlsoWhenTheDaemonHasBegunAnew(t *testing.T) {
	l := cluster(t, lab.Options{Daemon: true, FlexKeys: "max_attempts: 1"})
	shut(t, l)
	id := submit(t, l, "-p", "train", "-N2", "--time=15")
	group := "alpha-a3-job-" + id
	fail(t, l, group, "a1", "RESOURCE_POOL_EXHAUSTED", "The zone does not have enough resources available.")
	awaitJob(t, l, time.Minute, id, "Restarts", "1")
	require.NoError(t, l.StopDaemon())
	require.NoError(t, l.StartDaemon(context.Background()))
	awaitJob(t, l, time.Minute, id, "Reason", "BeginTime")
	update(t, l, "jobid="+id, "starttime=now")
	second := awaitRequestState(t, l, group, "a2", "ACCEPTED")
	first := awaitRequestState(t, l, group, "a1", "FAILED")
	assert.GreaterOrEqual(t, second.Created.Sub(first.Created), time.Minute, "the job's next attempt is not sooner for that")
	assert.Equal(t, "1", jobField(t, l, id, "Restarts"))
	cancel(t, l, id)
	awaitNothingLeft(t, l)
}
