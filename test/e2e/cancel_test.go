//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/api/compute/v1"

	"slurmflex/slurm"
	"slurmflex/test/fakegce"
	"slurmflex/test/lab"
)

func TestJobCancelledWhileWaitingCostsNothing(t *testing.T) {
	l := withDaemon(t)
	shut(t, l)
	id := submit(t, l, "-p", "train", "-N2", "--time=15")
	awaitRequest(t, l, "alpha-a3-job-"+id)
	cancelForGood(t, l, id)
	assert.Empty(t, booted(t, l), "no VM was ever made")
}

// E10: backfill ignores nodes after power_down_force. Compute takes longer than SuspendTimeout to
// cancel the request, so slurmflex does not resume the nodes while they are powering down.
func TestBackfillReusesTheNodesOfACancelledJob(t *testing.T) {
	l := cluster(t, lab.Options{Daemon: true, OperationTime: 10 * time.Second})
	long := submitScript(t, l, "sleep 600", "-p", "fixed", "-N1", "--time=50")
	awaitJob(t, l, periodic, long, "JobState", "RUNNING")
	shut(t, l)
	cancelled := submit(t, l, "-p", "fixed", "-N3", "--time=50")
	awaitRequestState(t, l, "alpha-g2-job-"+cancelled, "a1", "ACCEPTED")
	run(t, l, "scancel", cancelled)
	await(t, time.Minute, "the nodes to be powered down", func() bool { return len(notDown(t, l)) == 1 })

	blocker := submit(t, l, "-p", "fixed", "-N4", "--time=50")
	awaitJob(t, l, time.Minute, blocker, "Reason", "Resources")
	short := submit(t, l, "-p", "fixed", "-N1", "--time=5", "--nice=1000")
	awaitJob(t, l, time.Minute, short, "JobState", "CONFIGURING")
}

func TestUnneededRequestIsCancelled(t *testing.T) {
	l := cluster(t, lab.Options{Daemon: true, Configuring: true})
	shut(t, l)
	for name, change := range map[string]func(*testing.T, *lab.Lab, string){
		"when it is requeued": func(t *testing.T, l *lab.Lab, id string) {
			run(t, l, "scontrol", "requeue", id)
			awaitJob(t, l, time.Minute, id, "Restarts", "1")
			awaitOnlyWanted(t, l, id) // before 24.11 Slurm allocates the same nodes again immediately
		},
		"when it is requeued and held": func(t *testing.T, l *lab.Lab, id string) {
			run(t, l, "scontrol", "requeuehold", id)
			awaitNoCost(t, l)
			assert.Equal(t, "PENDING", jobField(t, l, id, "JobState"))
		},
		"when it has shrunk": func(t *testing.T, l *lab.Lab, id string) {
			update(t, l, "jobid="+id, "numnodes=1")
			awaitJob(t, l, time.Minute, id, "NumNodes", "1")
			awaitOnlyWanted(t, l, id)
			await(t, time.Minute, "the other nodes to be powered down", func() bool {
				down := 0
				for _, n := range flexNodes(t, l) {
					if n.State.Has(slurm.PoweredDown) {
						down++
					}
				}
				return down == 11
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			id := submit(t, l, "-p", "train", "-N3", "--time=15")
			awaitRequestState(t, l, "alpha-a3-job-"+id, "a1", "ACCEPTED")
			change(t, l, id)
			withdraw(t, l, id)
		})
	}
	awaitNothingLeft(t, l)
	assert.Empty(t, booted(t, l), "no VM was ever made")
}

// awaitOnlyWanted waits until the requested nodes are those allocated to the job: none while it is
// pending.
func awaitOnlyWanted(t *testing.T, l *lab.Lab, id string) {
	t.Helper()
	awaitShown(t, time.Minute, "requests for the nodes of job "+id+" alone", func() (string, bool) {
		var wanted, asked []string
		if jobField(t, l, id, "JobState") == "CONFIGURING" {
			names, err := slurm.Expand(jobField(t, l, id, "NodeList"))
			require.NoError(t, err)
			wanted = names
		}
		for _, g := range state(t, l).Groups {
			for _, r := range g.Requests {
				if r.State == "CREATING" || r.State == "ACCEPTED" {
					asked = append(asked, r.Instances...)
				}
			}
		}
		slices.Sort(asked)
		return fmt.Sprintf("wanted %v, asked for %v", wanted, asked), slices.Equal(wanted, asked)
	})
}

// onePass runs one pass.
func onePass(t *testing.T, l *lab.Lab) {
	t.Helper()
	_, err := l.Flex(context.Background(), "sync")
	require.NoError(t, err)
}

func TestGCDeletesResourcesOfACancelledJob(t *testing.T) {
	l := cluster(t, lab.Options{NoHooks: true})
	ctx := context.Background()
	shut(t, l)
	id := submit(t, l, "-p", "train", "-N2", "--time=15")
	awaitJob(t, l, time.Minute, id, "JobState", "CONFIGURING")
	await(t, time.Minute, "sync to ask for them", func() bool {
		onePass(t, l)
		return len(state(t, l).Groups) == 1
	})
	cancel(t, l, id)
	out, err := l.Flex(ctx, "gc", "--dry-run")
	require.NoError(t, err)
	assert.Contains(t, out, "cancel request alpha-a3-job-"+id+"/a1\n    because no job wants node")
	assert.Len(t, state(t, l).Groups, 1, "a dry run changes nothing")
	// An empty group is kept for its first 30 seconds.
	await(t, 2*time.Minute, "nothing to be left in the cloud", func() bool {
		_, err := l.Flex(ctx, "gc")
		return err == nil && len(state(t, l).Groups) == 0
	})
}

func TestForeignGroupsAreLeftAlone(t *testing.T) {
	l := withDaemon(t)
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
	await(t, time.Minute, "a machine in the other cluster's group", func() bool { return running(state(t, l)) == 1 })
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

func TestPassRespectsItsDeletionLimit(t *testing.T) {
	l := cluster(t, lab.Options{Daemon: true, Keys: "max_deletions_per_pass: 1"})
	mute(t, l, ".*")
	id := submit(t, l, "-p", "train", "-w", "alpha-a3-[0-2]", "-N3", "--time=15")
	awaitMute(t, l, "alpha-a3-0", "alpha-a3-1", "alpha-a3-2")
	mute(t, l, "")
	for _, vm := range state(t, l).Instances {
		tell(t, l, "vms/"+vm.Name+"/stop", nil)
	}
	await(t, 2*time.Minute, "three other machines to run", func() bool { return running(state(t, l)) == 3 })
	assert.Contains(t, readFile(l.Log("daemon.log")), "max_deletions_per_pass")
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
