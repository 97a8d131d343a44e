//go:build e2e

package e2e

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/test/lab"
)

// keeping starts a cluster with a nodeset of two nodes, whose idle machines also Slurm deletes after keep_idle,
// and runs a job there.
func keeping(t *testing.T) *lab.Lab {
	t.Helper()
	l := cluster(t, lab.Options{Daemon: true, SuspendTime: 40, NodeSets: []lab.NodeSet{{
		Name: "kept", Machine: "a3-highgpu-8g", Size: 2, FlexKeys: "max_run_duration: 3600, keep_idle: 40",
	}}})
	awaitCompleted(t, l, submit(t, l, "-p", "kept", "-N1", "--time=10"))
	return l
}

func TestWarmMachineServesNextJobAndIsDeletedAfterKeepIdle(t *testing.T) {
	l := keeping(t)
	before := state(t, l)
	require.Len(t, before.Instances, 1)
	kept := before.Instances[0]
	awaitWhy(t, l, kept.Name, "kept for the next job until")

	awaitCompleted(t, l, submitScript(t, l, "sleep 12", "-p", "kept", "-N1", "--time=10")) // two passes
	after := state(t, l)
	require.Len(t, after.Instances, 1)
	assert.Equal(t, kept.Name, after.Instances[0].Name)
	assert.Equal(t, kept.Created, after.Instances[0].Created)
	assert.Equal(t, before.Groups[0].Requests, after.Groups[0].Requests)
	assert.Len(t, calls(t, l, "regionInstanceGroupManagers.insert"), 1, "one group")
	assert.Len(t, calls(t, l, "regionInstanceGroupManagerResizeRequests.insert"), 1, "one request")
	awaitNothingLeft(t, l)
}

func TestSlurmEndsKeepIdleWithoutTheDaemon(t *testing.T) {
	l := keeping(t)
	require.NoError(t, l.StopDaemon())
	require.Len(t, state(t, l).Instances, 1)
	await(t, 90*time.Second, "Slurm to power the node down", func() bool { return nodeState(t, l, "alpha-kept-0") != "IDLE+CLOUD" })
	await(t, 2*time.Minute, "the machine to be gone", func() bool { return len(state(t, l).Instances) == 0 })
}
