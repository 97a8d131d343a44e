//go:build e2e

package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/test/lab"
)

// mixed starts a cluster with jobs that wait PENDING. Machines in partitions spot and demand are
// created immediately.
func mixed(t *testing.T) *lab.Lab {
	t.Helper()
	l := cluster(t, lab.Options{Daemon: true, Keys: "on_demand_after: 20s", NodeSets: []lab.NodeSet{
		{Name: "spot", Machine: "a3-highgpu-8g", Size: 2, Capacity: "spot"},
		{Name: "demand", Machine: "a3-highgpu-8g", Size: 2, Capacity: "on_demand"},
	}})
	return l
}

// modelCapacity sets each zone's capacity for a provisioning model.
func modelCapacity(t *testing.T, l *lab.Lab, model string, count int) {
	t.Helper()
	tell(t, l, "capacity", map[string]any{"zone": "", "machineType": "", "model": model, "count": count})
}

// Flex-start and Spot have no capacity. A requeued job waits in all partitions again.
func TestJobUsesMoreExpensiveMachinesAfterDearerAfter(t *testing.T) {
	l := mixed(t)
	modelCapacity(t, l, "FLEX_START", 0)
	modelCapacity(t, l, "SPOT", 0)
	id := submitScript(t, l, "sleep 600", "-p", "train,spot,demand", "-N2", "--time=15")
	awaitRequest(t, l, "alpha-a3-job-"+id)
	awaitJob(t, l, 2*time.Minute, id, "JobState", "RUNNING")
	assert.Equal(t, "demand", jobField(t, l, id, "Partition"))
	assert.Equal(t, "0", jobField(t, l, id, "Restarts"))
	run(t, l, "scontrol", "requeue", id)
	await(t, 2*time.Minute, "its whole list", func() bool { return len(strings.Split(jobField(t, l, id, "Partition"), ",")) == 3 })
	cancelForGood(t, l, id)
}
