//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/test/lab"
)

// checked starts a cluster with a nodeset of checked machines. The check runs at boot and every interval
// seconds, and counts the GPUs. After spoil, the node's next check runs that script instead.
func checked(t *testing.T, interval int, keys string) (l *lab.Lab, spoil func(node, script string)) {
	t.Helper()
	l = cluster(t, lab.Options{Daemon: true, HealthCheck: interval, NodeSets: []lab.NodeSet{{
		Name: "gang", Machine: "a3-highgpu-8g", Size: 5, FlexKeys: "health_check: 60, max_run_duration: 7200" + keys,
	}}})
	bad := filepath.Join(l.Dir, "run")
	require.NoError(t, l.Check("10-gpus", fmt.Sprintf(`bad=%s/bad-$SLURMD_NODENAME
mv "$bad" "$bad.seen" 2>/dev/null && . "$bad.seen"
[ "$(ls %s/dev/nvidia* | wc -l)" = 8 ] || { echo "not 8 GPUs"; exit 1; }
`, bad, l.Dir)))
	return l, func(node, script string) {
		t.Helper()
		require.NoError(t, os.WriteFile(filepath.Join(bad, "bad-"+node), []byte(script+"\n"), 0o644))
	}
}

func TestMachinesThatFailTheirCheckAreReplacedBeforeTheJobStarts(t *testing.T) {
	l, spoil := checked(t, 3600, "")
	spoil("alpha-gang-1", `echo "7 of 8 GPUs"; exit 1`)
	spoil("alpha-gang-2", "sleep 1000")
	id := submitScript(t, l, "sleep 5", "-p", "gang", "-w", "alpha-gang-[0-3]", "-N4", "--time=15")
	await(t, 2*time.Minute, "four machines", func() bool { return len(state(t, l).Instances) == 4 })
	first := created(t, l)
	tell(t, l, "vms/alpha-gang-1/same-host", nil)
	awaitTold(t, l, time.Minute, id, "failed its health check: 10-gpus: (7 of 8 GPUs|did not end in time)")
	awaitCompleted(t, l, id)
	assert.Equal(t, "0", jobField(t, l, id, "Restarts"))
	log := readFile(l.Log("daemon.log"))
	assert.Equal(t, 1, strings.Count(log, "Z warn the machine of alpha-gang-1 failed its health check: 10-gpus: 7 of 8 GPUs"))
	assert.Equal(t, 1, strings.Count(log, "Z warn the machine of alpha-gang-2 failed its health check: 10-gpus did not end in time"))
	assert.NotContains(t, log, "can be used no more", "the door stays")
	assert.NotContains(t, log, `"verb": "resume"`, "Slurm powers nothing up")
	assert.Len(t, first, 4)
	assert.Contains(t, log, "instance alpha-gang-1 is on host ", "the host of the machine that failed")
	awaitNothingLeft(t, l)
}

// The job loses a machine while another one's check has failed, and afterwards a check of a survivor fails.
func TestMachineThatFailsItsCheckUnderAJobIsNotKept(t *testing.T) {
	l, spoil := checked(t, 5, ", keep_idle: 600, salvage: true")
	id := submitScript(t, l, `[ -n "$SLURM_RESTART_COUNT" ] || sleep 1000; sleep 25`, "-p", "gang", "-N3", "--time=15")
	awaitJob(t, l, 2*time.Minute, id, "JobState", "RUNNING")
	first := created(t, l)
	failed := func(node string) {
		t.Helper()
		spoil(node, `echo "a GPU fell off the bus"; exit 1`)
		await(t, time.Minute, "the check to drain "+node, func() bool { return strings.Contains(nodeState(t, l, node), "DRAIN") })
		assert.Equal(t, "RUNNING", jobField(t, l, id, "JobState"))
		assert.Contains(t, created(t, l), node, "its job runs on")
	}
	failed("alpha-gang-1")
	tell(t, l, "vms/alpha-gang-0/delete", nil)
	awaitJob(t, l, 2*time.Minute, id, "Restarts", "1")
	awaitJob(t, l, 4*time.Minute, id, "JobState", "RUNNING")
	again := created(t, l)
	require.Len(t, again, 3)
	assert.Equal(t, first["alpha-gang-2"], again["alpha-gang-2"], "salvage keeps it")
	assert.NotEqual(t, first["alpha-gang-1"], again["alpha-gang-1"], "salvage does not keep it")

	failed("alpha-gang-2")
	awaitCompleted(t, l, id)
	assert.Equal(t, "1", jobField(t, l, id, "Restarts"), "only the loss has requeued it")
	await(t, time.Minute, "the machine to be gone", func() bool { _, there := created(t, l)["alpha-gang-2"]; return !there })
	assert.Len(t, created(t, l), 2, "keep_idle keeps the others")
	awaitCompleted(t, l, submitScript(t, l, "true", "-p", "gang", "-N1", "--time=15"))
}
