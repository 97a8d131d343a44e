//go:build e2e

package e2e

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/test/lab"
)

func TestJobOver1000NodesSplitsItsRequest(t *testing.T) {
	l := withDaemon(t,
		lab.NodeSet{Name: "many", Machine: "a3-highgpu-8g", Size: 1001, FlexKeys: "use_job_duration: true"})
	mute(t, l, ".*")
	shut(t, l)
	begun := time.Now()
	id := submit(t, l, "-p", "many", "-N1001", "--time=15")
	assert.Len(t, awaitRequest(t, l, "alpha-many-job-"+id).Instances, 1000)
	assert.Len(t, awaitRequest(t, l, "alpha-many-job-"+id+"-p1").Instances, 1)
	t.Logf("asked for after %s", time.Since(begun))
	awaitTold(t, l, 100*time.Second, id, `1000 × a3-highgpu-8g`)
	begun = time.Now()
	cancelForGood(t, l, id)
	t.Logf("nothing left %s after scancel", time.Since(begun))
}

func TestNodeByNodeRequestsEachNodeSeparately(t *testing.T) {
	l := cluster(t, lab.Options{Daemon: true, FlexKeys: "provisioning: node_by_node"})
	id := submit(t, l, "-p", "train", "-w", "alpha-a3-[0-1]", "-N2", "--time=15")
	for node := range 2 {
		assert.Len(t, awaitRequest(t, l, fmt.Sprint("alpha-a3-node-", node)).Instances, 1)
	}
	awaitDone(t, l, id)
}
