//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/test/lab"
)

// keeping starts a cluster with a nodeset of two nodes and this keep_idle, in seconds, which Slurm
// also ends without the daemon.
func keeping(t *testing.T, keepIdle int) *lab.Lab {
	return cluster(t, lab.Options{Daemon: true, SuspendTime: keepIdle, NodeSets: []lab.NodeSet{{
		Name: "kept", Machine: "a3-highgpu-8g", Size: 2, FlexKeys: fmt.Sprint("max_run_duration: 3600, keep_idle: ", keepIdle),
	}}})
}

// worked runs a job and returns its id.
func worked(t *testing.T, l *lab.Lab) string {
	t.Helper()
	id := submit(t, l, "-p", "kept", "-N1", "--time=10")
	awaitCompleted(t, l, id)
	return id
}

// metrics returns the daemon's metrics.
func metrics(t *testing.T, l *lab.Lab) string {
	t.Helper()
	answer, err := http.Get("http://" + l.HTTPAddress() + "/metrics")
	require.NoError(t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return string(text)
}

func TestWarmMachineServesNextJobAndIsDeletedAfterKeepIdle(t *testing.T) {
	l := keeping(t, 40)
	worked(t, l)
	before := state(t, l)
	require.Len(t, before.Instances, 1)
	kept := before.Instances[0]
	awaitShown(t, time.Minute, "why to name the end of its keep_idle", func() (string, bool) {
		out, _ := l.Flex(context.Background(), "why", kept.Name)
		return out, strings.Contains(out, "kept for the next job until")
	})

	awaitCompleted(t, l, submitScript(t, l, "sleep 12", "-p", "kept", "-N1", "--time=10")) // two passes
	after := state(t, l)
	require.Len(t, after.Instances, 1)
	assert.Equal(t, kept.Name, after.Instances[0].Name)
	assert.Equal(t, kept.Created, after.Instances[0].Created)
	assert.Equal(t, before.Groups[0].Requests, after.Groups[0].Requests)
	assert.Len(t, calls(t, l, "regionInstanceGroupManagers.insert"), 1, "one group")
	assert.Len(t, calls(t, l, "regionInstanceGroupManagerResizeRequests.insert"), 1, "one request")
	shown := metrics(t, l)
	assert.Contains(t, shown, `slurmflex_machine_reuses_total{nodeset="kept"} 1`+"\n")
	for _, use := range []string{"reused", "kept"} {
		assert.Contains(t, shown, fmt.Sprintf(`slurmflex_machine_seconds_total{nodeset="kept",use=%q} `, use))
		assert.NotContains(t, shown, fmt.Sprintf(`slurmflex_machine_seconds_total{nodeset="kept",use=%q} 0`+"\n", use))
	}
	awaitNothingLeft(t, l)
}

func TestWarmMachineIsDeletedNearTheEndOfItsLease(t *testing.T) {
	l := keeping(t, 1800)
	worked(t, l)
	require.Len(t, state(t, l).Instances, 1)
	endLease(t, l, state(t, l).Instances[0].Name, 9*time.Minute)
	awaitNothingLeft(t, l)
}

func TestSlurmEndsKeepIdleWithoutTheDaemon(t *testing.T) {
	l := keeping(t, 40)
	worked(t, l)
	require.NoError(t, l.StopDaemon())
	require.Len(t, state(t, l).Instances, 1)
	await(t, 90*time.Second, "Slurm to power the node down", func() bool { return nodeState(t, l, "alpha-kept-0") != "IDLE+CLOUD" })
	await(t, 2*time.Minute, "the machine to be gone", func() bool { return len(state(t, l).Instances) == 0 })
}
