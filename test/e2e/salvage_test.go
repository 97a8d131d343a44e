//go:build e2e

package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/test/fakegce"
	"slurmflex/test/lab"
)

// salvaging is a cluster with a nodeset of five nodes whose gangs are salvaged.
func salvaging(t *testing.T, timeout string) *lab.Lab {
	return cluster(t, lab.Options{Daemon: true, NodeSets: []lab.NodeSet{{
		Name: "gang", Machine: "a3-highgpu-8g", Size: 5, FlexKeys: "max_run_duration: 7200, salvage: true, salvage_timeout: " + timeout,
	}}})
}

// torn has a gang of four run and deletes the machine of one of its nodes. It returns the job
// and the machines that are left.
func torn(t *testing.T, l *lab.Lab) (id string, left map[string]fakegce.Instance) {
	t.Helper()
	id = submitScript(t, l, "sleep 600", "-p", "gang", "-N4", "--time=20")
	awaitJob(t, l, 120*time.Second, id, "JobState", "RUNNING")
	left = map[string]fakegce.Instance{}
	for _, in := range state(t, l).Instances {
		left[in.Name] = in
	}
	require.Len(t, left, 4)
	delete(left, "alpha-gang-2")
	return id, left
}

// awaitNothingHeld waits until no reservation holds anything for a job.
func awaitNothingHeld(t *testing.T, l *lab.Lab) {
	t.Helper()
	await(t, 60*time.Second, "the reservation to be gone", func() bool {
		return !strings.Contains(ask(t, l, "scontrol", "show", "reservation"), ".salvage-")
	})
}

func TestAGangThatLosesANodeStartsAgainOnTheOthersAndOneReplacement(t *testing.T) {
	l := salvaging(t, "600")
	id, left := torn(t, l)
	tell(t, l, "vms/alpha-gang-2/delete", nil)
	awaitJob(t, l, 120*time.Second, id, "Reason", "BeginTime")
	assert.Equal(t, "1", jobField(t, l, id, "Restarts"))
	update(t, l, "jobid="+id, "starttime=now")
	awaitJob(t, l, 120*time.Second, id, "JobState", "RUNNING")
	now := state(t, l)
	assert.Len(t, now.Instances, 4)
	for name, in := range left {
		kept, there := now.Instance(name)
		assert.True(t, there, "%s is left", name)
		assert.Equal(t, in.Created, kept.Created, name)
	}
	awaitNothingHeld(t, l)
	cancelForGood(t, l, id)
	awaitNothingLeft(t, l)
}

func TestTheMachinesOfATornGangGoWhenNoReplacementComes(t *testing.T) {
	l := salvaging(t, "60")
	id, left := torn(t, l)
	shut(t, l)
	tell(t, l, "vms/alpha-gang-2/delete", nil)
	awaitJob(t, l, 120*time.Second, id, "Reason", "BeginTime")
	update(t, l, "jobid="+id, "starttime=now")
	awaitJob(t, l, 60*time.Second, id, "Reason", "Reservation")
	assert.Len(t, state(t, l).Instances, len(left))
	await(t, 150*time.Second, "the machines to go", func() bool { return len(state(t, l).Instances) == 0 })
	cancelForGood(t, l, id)
	awaitNothingLeft(t, l)
}
