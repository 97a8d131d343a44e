//go:build e2e

package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/test/lab"
)

// Flex-start and Spot have no capacity. A requeued job waits in all partitions again.
func TestJobUsesMoreExpensiveMachinesAfterDearerAfter(t *testing.T) {
	l := cluster(t, lab.Options{Daemon: true, Keys: "on_demand_after: 20s", NodeSets: []lab.NodeSet{
		{Name: "spot", Machine: "a3-highgpu-8g", Size: 2, Capacity: "spot"},
		{Name: "demand", Machine: "a3-highgpu-8g", Size: 2, Capacity: "on_demand"},
	}})
	for _, model := range []string{"FLEX_START", "SPOT"} {
		tell(t, l, "capacity", map[string]any{"zone": "", "machineType": "", "model": model, "count": 0})
	}
	id := submitScript(t, l, "sleep 600", "-p", "train,spot,demand", "-N2", "--time=15")
	awaitRequest(t, l, "alpha-a3-job-"+id)
	awaitRunning(t, l, id)
	assert.Equal(t, "demand", jobField(t, l, id, "Partition"))
	assertNotRequeued(t, l, id)
	run(t, l, "scontrol", "requeue", id)
	await(t, 2*time.Minute, "its whole list", func() bool { return len(strings.Split(jobField(t, l, id, "Partition"), ",")) == 3 })
	cancelForGood(t, l, id)
}
