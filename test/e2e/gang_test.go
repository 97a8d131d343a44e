//go:build e2e

package e2e

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/test/fakegce"
	"slurmflex/test/lab"
)

func TestJobPoweredUpInBatchesIsOneRequest(t *testing.T) {
	l := cluster(t, lab.Options{Daemon: true, Configuring: true, ResumeRate: 3})
	shut(t, l)
	id := submit(t, l, "-p", "train", "-w", "alpha-a3-[0-4]", "-N5", "--time=15")
	request := awaitRequest(t, l, "alpha-a3-job-"+id)
	portions := regexp.MustCompile(`wake-up.*"verb": ?"resume"`)
	await(t, 90*time.Second, "Slurm to power up the last node", func() bool {
		return !strings.Contains(ask(t, l, "sinfo", "-h", "-N", "-n", "alpha-a3-[0-4]", "-o", "%T"), "~")
	})
	awaitPasses(t, l, 1)
	assert.Greater(t, len(portions.FindAllString(readFile(l.Log("daemon.log")), -1)), 1, "ResumeProgram was called more than once")
	assert.Equal(t, []string{"alpha-a3-job-" + id + "/" + request.Name}, liveRequests(state(t, l)))
	assert.Len(t, request.Instances, 5)
	capacity(t, l, "", 5)
	awaitDone(t, l, id)
}

func TestIncompleteAllocationIsReturnedAfterTheTimeout(t *testing.T) {
	l := cluster(t, lab.Options{Daemon: true, NodeSets: []lab.NodeSet{{
		Name: "a4", Machine: "a4-highgpu-8g", Size: 24,
		Keys: []string{"enable_placement: true", "placement_max_distance: 1"}, FlexKeys: "use_job_duration: true, gang_timeout: 5",
	}}})
	mute(t, l, ".*")
	capacity(t, l, "", 22)
	id := submit(t, l, "-p", "a4", "-N24", "--time=15")
	parts := []string{"alpha-a4-job-" + id, "alpha-a4-job-" + id + "-p1"}
	assert.Len(t, awaitRequest(t, l, parts[0]).Instances, 22, "as many as a sub-block holds")
	assert.Len(t, awaitRequest(t, l, parts[1]).Instances, 2)
	await(t, 2*time.Minute, "machines of one part", func() bool { return len(state(t, l).Instances) > 0 })
	awaitTold(t, l, 2*time.Minute, id, `gang_timeout`)
	await(t, 2*time.Minute, "the machines to be returned", func() bool { return len(state(t, l).Instances) == 0 })
	cancelForGood(t, l, id)
	for _, part := range parts {
		policy := madeAt(t, l, "resourcePolicies.insert", part, `"SUBBLOCK"`)
		group := madeAt(t, l, "regionInstanceGroupManagers.insert", part, "resourcePolicies/"+part+`"`)
		assert.Less(t, policy, group, "the policy of %s comes before the group", part)
	}
}

// madeAt returns when an object of that name was created, in nanoseconds, and asserts that the
// call's body contains says.
func madeAt(t *testing.T, l *lab.Lab, method, name, says string) int64 {
	t.Helper()
	made := calls(t, l, method)
	i := slices.IndexFunc(made, func(c fakegce.Call) bool { return strings.Contains(c.Body, `"`+name+`"`) })
	if !assert.GreaterOrEqual(t, i, 0, "%s %s in %+v", method, name, made) {
		return 0
	}
	assert.Contains(t, made[i].Body, says)
	return made[i].Time.UnixNano()
}

func TestJobOver1000NodesSplitsItsRequest(t *testing.T) {
	l := cluster(t, lab.Options{Daemon: true, NodeSets: []lab.NodeSet{
		{Name: "many", Machine: "a3-highgpu-8g", Size: 1001, FlexKeys: "use_job_duration: true"},
	}})
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
	assert.Empty(t, booted(t, l), "no VM was ever made")
}

func TestNodeByNodeRequestsEachNodeSeparately(t *testing.T) {
	l := cluster(t, lab.Options{Daemon: true, FlexKeys: "provisioning: node_by_node"})
	id := submit(t, l, "-p", "train", "-w", "alpha-a3-[0-1]", "-N2", "--time=15")
	for node := range 2 {
		assert.Len(t, awaitRequest(t, l, fmt.Sprint("alpha-a3-node-", node)).Instances, 1)
	}
	awaitDone(t, l, id)
}
