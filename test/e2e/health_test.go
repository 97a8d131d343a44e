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

func TestMachinesThatFailTheirCheckAreReplacedBeforeTheJobStarts(t *testing.T) {
	l := cluster(t, lab.Options{Daemon: true, HealthCheck: 3600, NodeSets: []lab.NodeSet{{
		Name: "gang", Machine: "a3-highgpu-8g", Size: 5, FlexKeys: "health_check: 60, max_run_duration: 7200",
	}}})
	// The first check of these two nodes runs another script.
	bad := filepath.Join(l.Dir, "run/bad-")
	for node, script := range map[string]string{"alpha-gang-1": `echo "7 of 8 GPUs"; exit 1`, "alpha-gang-2": "sleep 1000"} {
		require.NoError(t, os.WriteFile(bad+node, []byte(script+"\n"), 0o644))
	}
	require.NoError(t, l.Check("10-gpus", fmt.Sprintf(`bad=%s$SLURMD_NODENAME
mv "$bad" "$bad.seen" 2>/dev/null && . "$bad.seen"
[ "$(ls %s/dev/nvidia* | wc -l)" = 8 ] || { echo "not 8 GPUs"; exit 1; }
`, bad, l.Dir)))
	id := submitScript(t, l, "sleep 5", "-p", "gang", "-w", "alpha-gang-[0-3]", "-N4", "--time=15")
	await(t, 2*time.Minute, "four machines", func() bool { return len(state(t, l).Instances) == 4 })
	tell(t, l, "vms/alpha-gang-1/same-host", nil)
	awaitTold(t, l, time.Minute, id, "failed its health check: 10-gpus: (7 of 8 GPUs|did not end in time)")
	awaitDone(t, l, id)
	log := readFile(l.Log("daemon.log"))
	assert.Equal(t, 1, strings.Count(log, "Z warn the machine of alpha-gang-1 failed its health check: 10-gpus: 7 of 8 GPUs"))
	assert.Equal(t, 1, strings.Count(log, "Z warn the machine of alpha-gang-2 failed its health check: 10-gpus did not end in time"))
	assert.NotContains(t, log, "can be used no more", "the door stays")
	assert.NotContains(t, log, `"verb": "resume"`, "Slurm powers nothing up")
	assert.Contains(t, log, "instance alpha-gang-1 is on host ", "the host of the machine that failed")
}

// TestMachinesWithLessThanConfiguredBlockTheirNodeset: each machine registers with fewer CPUs than
// slurm.conf gives its node.
func TestMachinesWithLessThanConfiguredBlockTheirNodeset(t *testing.T) {
	l := cluster(t, lab.Options{Daemon: true, NodeSets: []lab.NodeSet{{
		Name: "low", Machine: "a3-highgpu-8g", Size: 6, FlexKeys: "use_job_duration: true, boot_failures: 2",
	}}})
	conf := strings.Replace(readFile(l.Conf()), "SlurmdParameters=config_overrides\n", "", 1)
	require.NoError(t, os.WriteFile(l.Conf(), []byte(conf), 0o644))
	require.NoError(t, l.Restart(t.Context()))
	id := submit(t, l, "-p", "low", "-N1", "--time=15")
	awaitTold(t, l, 2*time.Minute, id, "registered with less than slurm.conf says")
	awaitWhy(t, l, id, "nodeset low is blocked because 2 machines in a row failed to boot")
	cancel(t, l, id)
	awaitNothingLeft(t, l)
}
