//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/api/compute/v1"

	"slurmflex/test/fakegce"
	"slurmflex/test/lab"
)

func TestGCCollectsWhatACancelledJobHasLeft(t *testing.T) {
	l := cluster(t, lab.Options{NoHooks: true})
	ctx := context.Background()
	shut(t, l)
	id := submit(t, l, "-p", "train", "-N2", "--time=15")
	awaitJob(t, l, 30*time.Second, id, "JobState", "CONFIGURING")
	await(t, 30*time.Second, "sync to ask for them", func() bool {
		onePass(t, l)
		return len(state(t, l).Groups) == 1
	})
	cancel(t, l, id)
	out, err := l.Flex(ctx, "gc", "--dry-run")
	require.NoError(t, err)
	assert.Contains(t, out, "cancel request alpha-a3-job-"+id+"/a1\n    because no job wants node")
	assert.Len(t, state(t, l).Groups, 1, "a dry run changes nothing")
	// An empty group is left alone in its first half minute.
	await(t, time.Minute, "nothing to be left in the cloud", func() bool {
		_, err := l.Flex(ctx, "gc")
		return err == nil && len(state(t, l).Groups) == 0
	})
}

func TestGroupsThatAreNotOursAreLeftAlone(t *testing.T) {
	l := cluster(t, lab.Options{Daemon: true})
	ctx := context.Background()
	mute(t, l, "alpha-b-.*")
	labelled := fakegce.FlexTemplate("gcp", "a3-highgpu-8g")
	labelled.Properties.Labels = map[string]string{"slurm_cluster_name": "alpha"}
	const beta, bare, gcp = "alpha-b-job-7", "alpha-a3-job-999", "alpha-a3-job-7-1a2b3c4d"
	create(t, l, "instanceTemplates", labelled)
	createGroup(t, l, beta, `{"slurmflex":1,"cluster":"alpha-b","nodeset":"a3","job":7}`, "a3")
	createGroup(t, l, bare, "", "a3")
	createGroup(t, l, gcp, "", labelled.Name)
	create(t, l, "instanceGroupManagers/"+beta+"/resizeRequests", &compute.InstanceGroupManagerResizeRequest{
		Name: "a1", Instances: []*compute.PerInstanceConfig{{Name: "alpha-b-a3-0"}}, RequestedRunDuration: &compute.Duration{Seconds: 600},
	})
	await(t, 20*time.Second, "a machine in the other cluster's group", func() bool { return running(state(t, l)) == 1 })
	awaitGroups := func(names ...string) {
		t.Helper()
		awaitShown(t, 90*time.Second, "these groups alone", func() (string, bool) {
			var there []string
			for _, g := range state(t, l).Groups {
				there = append(there, g.Name)
			}
			text, _ := json.Marshal(there)
			return string(text), assert.ObjectsAreEqual(names, there)
		})
		assert.Len(t, state(t, l).Instances, 1)
	}
	id := submit(t, l, "-p", "train", "-N2", "--time=15")
	awaitCompleted(t, l, id)
	awaitGroups(gcp, bare, beta)
	_, err := l.Flex(ctx, "gc")
	require.NoError(t, err)
	awaitPasses(t, l, 2)
	awaitGroups(gcp, bare, beta)
	_, err = l.Flex(ctx, "gc", "--adopt-slurm-gcp")
	require.NoError(t, err)
	awaitGroups(bare, beta)
}

func TestAPassDeletesNoMoreOfItsOwnAccordThanItMay(t *testing.T) {
	l := cluster(t, lab.Options{Daemon: true, Keys: "max_deletions_per_round: 1"})
	mute(t, l, ".*")
	id := submit(t, l, "-p", "train", "-w", "alpha-a3-[0-2]", "-N3", "--time=15")
	awaitMute(t, l, "alpha-a3-0", "alpha-a3-1", "alpha-a3-2")
	mute(t, l, "")
	for _, vm := range state(t, l).Instances {
		tell(t, l, "vms/"+vm.Name+"/stop", nil)
	}
	await(t, 2*time.Minute, "three other machines to run", func() bool { return running(state(t, l)) == 3 })
	assert.Contains(t, readFile(l.Log("daemon.log")), "max_deletions_per_round")
	deleted := 0 // in this pass
	for _, call := range calls(t, l, look, "regionInstanceGroupManagers.deleteInstances") {
		if call.Method == look {
			deleted = 0
			continue
		}
		var body struct{ Instances []string }
		require.NoError(t, json.Unmarshal([]byte(call.Body), &body))
		deleted += len(body.Instances)
		assert.Equal(t, 1, deleted)
	}
	awaitDone(t, l, id)
}

func running(s fakegce.State) (n int) {
	for _, vm := range s.Instances {
		if vm.Status == "RUNNING" {
			n++
		}
	}
	return n
}
