//go:build e2e

package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/test/lab"
)

func TestExclusiveJobRunsAndIsCleanedUp(t *testing.T) {
	l := withDaemon(t)
	id := submit(t, l, "-p", "train", "-N2", "--time=15")
	request := awaitRequest(t, l, "alpha-a3-job-"+id)
	assert.Len(t, request.Instances, 2)
	assert.Equal(t, 15*time.Minute, request.Duration, "use_job_duration: the job's TimeLimit")
	awaitDone(t, l, id)
}

func TestExclusiveJobRunsWithoutADaemon(t *testing.T) {
	l := cluster(t, lab.Options{})
	id := submit(t, l, "-p", "train", "-N2", "--time=15")
	request := awaitRequest(t, l, "alpha-a3-job-"+id)
	assert.Equal(t, 15*time.Minute, request.Duration)
	awaitDone(t, l, id)
}

func TestExclusiveJobRunsWithSlurmctldAsUserSlurm(t *testing.T) {
	t.Parallel()
	for name, daemon := range map[string]bool{"with a daemon": true, "without a daemon": false} {
		t.Run(name, func(t *testing.T) {
			l := cluster(t, lab.Options{User: "slurm", Daemon: daemon})
			id := submit(t, l, "-p", "train", "-N2", "--time=15")
			awaitRequest(t, l, "alpha-a3-job-"+id)
			awaitDone(t, l, id)
		})
	}
}

func TestManualPowerUpAndPowerDownOfANode(t *testing.T) {
	l := withDaemon(t)
	update(t, l, "nodename=alpha-a3-5", "state=power_up")
	request := awaitRequest(t, l, "alpha-a3-node-5")
	assert.Equal(t, []string{"alpha-a3-5"}, request.Instances)
	awaitUp(t, l, "alpha-a3-5")
	update(t, l, "nodename=alpha-a3-5", "state=power_down_force")
	awaitNothingLeft(t, l)
}

func TestOtherNodesetsAreDelegated(t *testing.T) {
	l := withDaemon(t)
	update(t, l, "nodename=alpha-cpu-[0-1]", "state=power_up")
	await(t, time.Minute, "the delegate to be called", func() bool {
		text := readFile(l.Log("delegate.log"))
		return strings.Contains(text, "/bin/delegate alpha-cpu-[0-1]")
	})
	assert.Empty(t, state(t, l).Groups)
}
