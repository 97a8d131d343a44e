package flex

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/flex/memory"
	"slurmflex/flex/observe"
	"slurmflex/flex/plan"
	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
	"slurmflex/slurm"
	"slurmflex/test/fakegce"
)

func TestAPass(t *testing.T) {
	eachInWorld(t, map[string]func(*testing.T, *world){
		"no pass runs without an answer from Slurm": func(t *testing.T, w *world) {
			w.running(1, "train", "alpha-a3-0")
			before := w.owned()
			w.slurm.cancel(1) // leaves a machine to delete
			down := errors.New("slurm_load_node error: Unable to contact slurm controller")
			w.slurm.refuse(down)
			w.cloud.ResetCalls()

			_, err := w.Pass(t.Context())
			require.ErrorIs(t, err, down)
			assert.EqualError(t, err, "read nodes: "+down.Error())
			snap, err := w.Observe(t.Context())
			require.ErrorIs(t, err, down)
			assert.Equal(t, scene.Snapshot{}, snap)
			assert.Empty(t, w.mutations())
			assert.Equal(t, before, w.owned())
		},
		"a job that starts while the cloud is slow keeps its nodes": func(t *testing.T, w *world) {
			w.waiting(1, "shared", "alpha-a3-0")
			w.slurm.cancel(1)
			w.Cloud = listingCloud{w.Cloud, func() { w.slurm.submit(2, "shared", "alpha-a3-0") }}
			w.mustPass()
			assert.NotContains(t, strings.Join(w.slurm.updated(), "\n"), "power_down", "job 2 has got the node that was powering up without a job")
			assert.Contains(t, w.owned(), "request alpha-a3-job-1/a1 for alpha-a3-0: ACCEPTED", "and what waits for it")
		},
		"a slow Slurm is not asked twice": func(t *testing.T, w *world) {
			w.Scheduler = slowSlurm{w.slurm}
			w.mustPass()
			assert.Len(t, w.slurm.reads, 1)
		},
		"collecting only creates nothing and sets no node": func(t *testing.T, w *world) {
			w.running(1, "train", "alpha-a3-0")
			w.slurm.cancel(1)                        // leaves a machine and a group to clean up
			w.slurm.submit(2, "train", "alpha-a3-1") // leaves nothing to clean up
			w.slurm.submit(3, "train", "alpha-a3-2")
			w.slurm.cancel(3) // leaves a node to return
			updates := w.slurm.updated()
			for range 5 {
				w.mustPass(OnlyCollect)
				time.Sleep(10 * time.Second)
			}
			assert.Empty(t, w.owned())
			assert.Equal(t, updates, w.slurm.updated())
		},
		"a successor's group is left alone": func(t *testing.T, w *world) {
			w.successor()
			was := w.owned()
			w.Adopt = true
			// alpha-a3-0 is powered down and job 1 is unknown, so a pass would delete the machine.
			stop := w.daemon(nil)
			time.Sleep(time.Hour)
			stop()
			assert.Equal(t, was, w.owned())
			assert.Empty(t, w.mutations())
			assert.NotZero(t, w.log.FilterMessageSnippet("group alpha-a3-job-1 in us-central1 is left alone because a newer slurmflex created it").Len())
		},
		"a job is notified that a successor created its group": func(t *testing.T, w *world) {
			w.successor()
			was := w.owned()
			w.slurm.submit(1, "train", "alpha-a3-[0-1]")
			stop := w.daemon(nil)
			time.Sleep(10 * time.Minute)
			stop()
			assert.Equal(t, was, w.owned())
			assert.Contains(t, w.slurm.comment[1], "a newer slurmflex created it")
		},
		"a pass knows Slurm's partitions as they were ten minutes ago at most": func(t *testing.T, w *world) {
			known := func() slurm.Limit {
				snap := w.observed()
				require.Len(t, snap.Partitions, 2)
				assert.Equal(t, "shared", snap.Partitions[0].Name)
				return snap.Partitions[0].MaxTime
			}
			hour, day := slurm.ParseLimit("1:00:00"), slurm.ParseLimit("1-00:00:00")
			w.slurm.maxTime = hour
			assert.Equal(t, hour, known())
			w.slurm.maxTime = day
			time.Sleep(memory.SettingsAge - time.Second)
			assert.Equal(t, hour, known(), "read rarely")
			time.Sleep(time.Second)
			assert.Equal(t, day, known())
		},
	}, func(t *testing.T, w *world, does func(*testing.T, *world)) { does(t, w) })
}

func TestRepeatedPassChangesNothing(t *testing.T) {
	stages := map[string]func(*world){
		"while a job waits for capacity": func(w *world) {
			w.waiting(1, "train", "alpha-a3-[0-1]")
			time.Sleep(time.Minute) // until its nodes show the wait
			w.settle()
		},
		"while a job runs":                   func(w *world) { w.running(1, "train", "alpha-a3-[0-1]") },
		"when all is put away":               func(w *world) { w.running(1, "train", "alpha-a3-0"); w.slurm.cancel(1); w.settle() },
		"while nodes are created one by one": func(w *world) { w.running(1, "shared", "alpha-one-[0-1]") },
	}
	eachInWorld(t, stages, func(t *testing.T, w *world, arrive func(*world)) {
		arrive(w)
		w.cloud.ResetCalls()
		updates := w.slurm.updated()
		for range 3 {
			assert.False(t, w.mustPass().soon())
			time.Sleep(time.Minute)
		}
		assert.Empty(t, w.mutations())
		assert.Equal(t, updates, w.slurm.updated())
	})
}

func TestLastSuspendedNodeDeletesTheGroup(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.running(1, "shared", "alpha-a3-[0-1]")
		w.cancelled(1)

		w.cloud.ResetCalls()
		w.slurm.set("alpha-a3-1", "IDLE+CLOUD+POWERING_DOWN")
		w.settle()
		assert.Equal(t, []string{"regionInstanceGroupManagers.deleteInstances"}, w.mutations())
		w.owns("group alpha-a3-job-1 in us-central1 of size 1",
			"request alpha-a3-job-1/a1 for alpha-a3-[0-1]: SUCCEEDED",
			"instance alpha-a3-0 of alpha-a3-job-1: RUNNING")

		w.cloud.ResetCalls()
		w.slurm.set("alpha-a3-0", "IDLE+CLOUD+POWERING_DOWN")
		w.settle()
		assert.Equal(t, []string{
			"regionInstanceGroupManagers.deleteInstances", "regionInstanceGroupManagers.delete",
		}, w.mutations())
		assert.Empty(t, w.owned())
	})
}

func TestCancelledJobLosesItsRequestsAndNodes(t *testing.T) {
	for _, nodes := range []string{"alpha-a3-[0-1]", "alpha-one-[0-1]"} {
		t.Run(nodes, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.waiting(1, "shared", nodes)
				require.NotEmpty(t, w.owned())
				w.cancelled(1)
				assert.Empty(t, w.owned())
				assert.Equal(t, []string{
					nodes + " power_down_force slurmflex: no job waits for this node any more", nodes + " resume ",
				}, w.slurm.updated())
			})
		})
	}
}

// copied copies a machine of a job's group, with its metadata, to a node that is powered down.
func (w *world) copied(job uint32, node string) {
	w.t.Helper()
	body := fmt.Sprintf(`{"count":"1","perInstanceProperties":{%q:{}},"sourceInstanceTemplate":"projects/demo/regions/us-central1/instanceTemplates/flex",
		"instanceProperties":{"scheduling":{"provisioningModel":"FLEX_START","instanceTerminationAction":"DELETE","onHostMaintenance":"TERMINATE","automaticRestart":false,"maxRunDuration":{"seconds":"604800"}},
		"reservationAffinity":{"consumeReservationType":"NO_RESERVATION"},
		"metadata":{"items":[{"key":"created-by","value":"projects/1/regions/us-central1/instanceGroupManagers/alpha-a3-job-%d"}]}}}`, node, job)
	req, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, "http://compute.test/compute/v1/projects/demo/zones/us-central1-a/instances/bulkInsert", strings.NewReader(body))
	require.NoError(w.t, err)
	resp, err := w.cloud.Transport().RoundTrip(req)
	require.NoError(w.t, err)
	require.NoError(w.t, resp.Body.Close())
	require.Equal(w.t, http.StatusOK, resp.StatusCode)
	time.Sleep(time.Minute)
	w.slurm.set(node, "IDLE+CLOUD+POWERED_DOWN")
	require.Len(w.t, w.cloud.State().Instances, 2)
}

func TestCopyOfAMachineIsReportedAndNeverDeleted(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.running(1, "train", "alpha-a3-0")
		w.copied(1, "alpha-a3-1")
		w.passes(10, 10*time.Second)
		assert.Zero(t, w.log.FilterMessage("machines deleted").Len())
		problems := w.mustPass().Plan.Problems
		require.Len(t, problems, 1)
		assert.Contains(t, problems[0].Text, "instance alpha-a3-1 in us-central1-a is not a member of group alpha-a3-job-1")
	})
}

// E1: a dead zone may hold machines of its own region only.
func TestDeadZoneStopsNoOtherRegion(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.running(1, "shared", "alpha-one-0")
		w.running(2, "shared", "alpha-one-1")
		before := w.owned()
		w.slurm.cancel(1) // leaves a machine to delete
		w.slurm.set("alpha-one-0", "IDLE+CLOUD+POWERED_DOWN")

		w.cloud.SetZoneDead("europe-west4-b", true)
		w.cloud.ResetCalls()
		w.slurm.submit(3, "shared", "alpha-one-2") // needs a new group
		w.slurm.submit(4, "train", "alpha-a3-0")
		stop := w.daemon(nil)
		time.Sleep(time.Hour)
		stop()
		assert.Contains(t, w.owned(), "instance alpha-a3-0 of alpha-a3-job-4: RUNNING")
		assert.Subset(t, w.owned(), before)
		for _, c := range w.cloud.Calls() {
			assert.False(t, c.Verb != http.MethodGet && strings.Contains(c.Path, europe), "%s %s", c.Verb, c.Path)
		}
		assert.NotContains(t, strings.Join(w.slurm.updated(), "\n"), "alpha-one-1", "no machine is taken for lost")

		w.cloud.SetZoneDead("europe-west4-b", false)
		time.Sleep(10 * time.Minute)
		w.settle()
		assert.NotContains(t, strings.Join(w.owned(), "\n"), "alpha-one-0")
		assert.Contains(t, strings.Join(w.owned(), "\n"), "alpha-one-2")
	})
}

// A zone without nodesets and groups cannot contain machines of the cluster.
func TestDeadZoneWithoutNodesetsStopsNothing(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.cloud.SetZoneDead("us-central1-f", true)
		snap := w.observed()
		assert.Empty(t, snap.Unseen)
	})
}

// E1: a zone that is no longer configured may contain a machine without a group, and may be dead
// when the process starts.
func TestMachineInADeadUnconfiguredZoneIsNotLost(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		set := w.slurm.cfg.NodeSets[0]
		set.Flex.UseBulkInsert = true
		w.running(1, "train", "alpha-a3-0")
		before, queued := w.slurm.updated(), w.slurm.queue()
		set.Zones = []string{"us-central1-b"}
		w.cloud.SetZoneDead("us-central1-a", true)
		w.begin() // a new process without memory
		w.passes(5, time.Minute)
		s, _ := w.look()
		require.Error(t, s.Seen.Unseen[us])
		assert.Equal(t, before, w.slurm.updated(), "its node stays up")
		assert.Equal(t, queued, w.slurm.queue())

		w.cloud.SetZoneDead("us-central1-a", false)
		time.Sleep(10 * time.Minute)
		w.passes(2, time.Minute)
		w.cloud.SetZoneDead("us-central1-f", true)
		s, _ = w.look()
		assert.Empty(t, s.Seen.Unseen, "no machine is missing")
	})
}

func TestUnreadRegionIsLeftUnchanged(t *testing.T) {
	unreadable := map[string]fakegce.Fault{
		"groups":    {Method: "regionInstanceGroupManagers.list", Object: "/europe-west4/", Status: http.StatusForbidden},
		"requests":  {Method: "regionInstanceGroupManagerResizeRequests.list", Object: "/europe-west4/", Status: http.StatusForbidden},
		"instances": {Method: "instances.list", Unreachable: []string{europe}},
	}
	eachInWorld(t, unreadable, func(t *testing.T, w *world, fault fakegce.Fault) {
		w.running(1, "shared", "alpha-one-0")
		w.waiting(2, "shared", "alpha-one-1")
		before := w.owned()
		w.slurm.cancel(1) // leaves a machine to delete
		w.slurm.set("alpha-one-0", "IDLE+CLOUD+POWERED_DOWN")
		w.slurm.cancel(2)                          // leaves a request to cancel
		w.slurm.submit(3, "shared", "alpha-one-2") // needs a new group
		w.slurm.submit(4, "train", "alpha-a3-0")   // needs a new group in a readable region

		w.fault(fault)
		out := w.mustPass()
		assert.ElementsMatch(t, append(before,
			"group alpha-a3-job-4 in us-central1 of size 1",
			"request alpha-a3-job-4/a1 for alpha-a3-0: ACCEPTED",
		), w.owned())
		require.Len(t, out.Plan.Problems, 1, "one for the region, not one for each group")
		assert.Contains(t, out.Plan.Problems[0].Text, "region europe-west4 could not be read, and nothing is done in it: ")
		assert.Equal(t, 1, w.log.FilterMessage(out.Plan.Problems[0].Text).Len(), "an admin can read of it")

		w.cloud.ClearFaults()
		w.settle()
		assert.Contains(t, w.owned(), "request alpha-one-node-2/a1 for alpha-one-2: ACCEPTED")
		assert.NotContains(t, strings.Join(w.owned(), "\n"), "alpha-one-0")
	})
}

// slowSlurm is a slurmctld that lists its nodes slowly.
type slowSlurm struct{ *controller }

func (s slowSlurm) Nodes(ctx context.Context) ([]slurm.Node, error) {
	time.Sleep(2 * observe.SlurmAge)
	return s.controller.Nodes(ctx)
}

func TestJobCancelledDuringItsRequestLeavesNoRequest(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.soldOut()
		h := hang(w, "alpha-a3-job-1")
		w.slurm.submit(1, "train", "alpha-a3-0")
		w.within(5 * time.Second)
		w.slurm.cancel(1)
		w.within(5 * time.Second)
		close(h.let)
		time.Sleep(2 * time.Second)
		assert.NotEmpty(t, w.owned(), "it has come too late")
		w.settle()
		assert.Empty(t, w.owned())
	})
}

func TestGroupIsDeletedAfterItsLeasesEnd(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.running(1, "shared", "alpha-one-0")
		w.slurm.cancel(1)
		time.Sleep(2 * time.Hour)
		w.slurm.set("alpha-one-0", "DOWN+CLOUD+NOT_RESPONDING")
		w.settle()
		assert.Empty(t, w.owned())
		assert.Empty(t, w.slurm.eol)
	})
}

// successor creates a group for job 1 with a machine for node alpha-a3-0, as a newer slurmflex of
// the same cluster would.
func (w *world) successor() {
	w.t.Helper()
	stamp := mig.Stamp{Version: mig.StampVersion + 1, Cluster: "alpha", NodeSet: "a3", Job: 1}
	require.NoError(w.t, w.Cloud.CreatePolicy(w.t.Context(), mig.PolicySpec{Name: "alpha-a3-job-1", Region: us, Stamp: stamp}))
	require.NoError(w.t, w.Cloud.CreateGroup(w.t.Context(), mig.GroupSpec{
		Name: "alpha-a3-job-1", Region: us, Zones: []string{"us-central1-a"}, Policy: "alpha-a3-job-1", Stamp: stamp,
		Template: "projects/demo/regions/us-central1/instanceTemplates/flex",
	}))
	require.NoError(w.t, w.Cloud.CreateRequest(w.t.Context(), us, "alpha-a3-job-1", mig.RequestSpec{
		Name: "a1", Instances: []string{"alpha-a3-0"}, Duration: 24 * time.Hour,
	}))
	time.Sleep(time.Minute)
	w.cloud.ResetCalls()
}

// B10: the host's clock jumps a day ahead while machines boot.
func TestClockJumpReleasesNoMachine(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.slurm.submit(1, "train", "alpha-a3-[0-1]")
		w.passes(20, time.Second)
		require.Len(t, w.cloud.State().Instances, 2)
		made := w.mutations()
		// The clock jumps during the slow read of Slurm, after Compute has sent its time.
		at := time.Now().Add(time.Second)
		w.Now = func() time.Time {
			if now := time.Now(); now.Before(at) {
				return now
			}
			return time.Now().Add(24 * time.Hour)
		}
		w.Scheduler = slowSlurm{w.slurm}
		snap := w.observed()
		assert.InDelta(t, 24*time.Hour, snap.Skew, float64(2*time.Second))
		w.passes(5, time.Second)
		assert.Equal(t, made, w.mutations())
		snap = w.observed()
		assert.Equal(t, slurm.JobConfiguring, snap.Jobs[0].State)
	}, func(o *fakegce.Options) { o.BootTime = time.Hour })
}

func TestCollectionSkipsRequestsThatYield(t *testing.T) {
	p := OnlyCollect(plan.Plan{Actions: []action.Action{action.CancelRequest{Request: "a1", Yields: true}, action.CancelRequest{Request: "a2"}}})
	assert.Equal(t, []action.Action{action.CancelRequest{Request: "a2"}}, p.Actions)
}
