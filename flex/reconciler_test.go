package flex

import (
	"context"
	"errors"
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
			w.fault(fakegce.Fault{Method: "regionInstanceGroupManagers.list", Delay: 20 * time.Second})
			time.AfterFunc(10*time.Second, func() { w.slurm.submit(2, "shared", "alpha-a3-0") })
			w.slurm.reads = nil
			w.mustPass()
			assert.Len(t, w.slurm.reads, 2, "Slurm is read again, once")
			assert.NotContains(t, strings.Join(w.slurm.updated(), "\n"), "power_down", "job 2 has got the node that was powering up without a job")
			assert.Contains(t, w.owned(), "request alpha-a3-job-1/a1 for alpha-a3-0: ACCEPTED", "and what waits for it")
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
			p := OnlyCollect(plan.Plan{Actions: []action.Action{action.CancelRequest{Request: "a1", Yields: true}, action.CancelRequest{Request: "a2"}}})
			assert.Equal(t, []action.Action{action.CancelRequest{Request: "a2"}}, p.Actions)
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
	inWorld(t, func(t *testing.T, w *world) {
		const nodes = "alpha-a3-[0-1],alpha-one-[0-1]" // of one request, and of a request each
		w.waiting(1, "shared", nodes)
		require.NotEmpty(t, w.owned())
		w.cancelled(1)
		assert.Empty(t, w.owned())
		assert.Equal(t, []string{
			nodes + " power_down_force slurmflex: no job waits for this node any more", nodes + " resume ",
		}, w.slurm.updated())
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
		require.Error(t, w.observed().Unseen[us])
		assert.Equal(t, before, w.slurm.updated(), "its node stays up")
		assert.Equal(t, queued, w.slurm.queue())

		w.cloud.SetZoneDead("us-central1-a", false)
		time.Sleep(10 * time.Minute)
		w.passes(2, time.Minute)
		w.cloud.SetZoneDead("us-central1-f", true)
		assert.Empty(t, w.observed().Unseen, "no machine is missing")
	})
}

// E1: a dead zone may hold machines of its own region only.
func TestUnreadRegionIsLeftUnchanged(t *testing.T) {
	unread := func(method string) func(*world, bool) {
		return func(w *world, fails bool) {
			w.cloud.ClearFaults()
			if fails {
				w.fault(fakegce.Fault{Method: method, Object: "/europe-west4/", Status: http.StatusForbidden})
			}
		}
	}
	eachInWorld(t, map[string]func(w *world, fails bool){
		"groups":      unread("regionInstanceGroupManagers.list"),
		"requests":    unread("regionInstanceGroupManagerResizeRequests.list"),
		"a dead zone": func(w *world, fails bool) { w.cloud.SetZoneDead("europe-west4-b", fails) },
	}, func(t *testing.T, w *world, set func(*world, bool)) {
		w.running(1, "shared", "alpha-one-0")
		w.running(5, "shared", "alpha-one-1")
		w.waiting(2, "shared", "alpha-one-2")
		before := w.owned()
		w.slurm.cancel(1) // leaves a machine to delete
		w.slurm.set("alpha-one-0", "IDLE+CLOUD+POWERED_DOWN")
		w.slurm.cancel(2)                          // leaves a request to cancel
		w.slurm.submit(3, "shared", "alpha-one-3") // needs a new group
		w.slurm.submit(4, "train", "alpha-a3-0")   // needs a new group in a readable region
		set(w, true)
		out := w.mustPass()
		w.passes(10, time.Minute)
		assert.ElementsMatch(t, append(before,
			"group alpha-a3-job-4 in us-central1 of size 1",
			"request alpha-a3-job-4/a1 for alpha-a3-0: ACCEPTED",
		), w.owned())
		assert.Empty(t, w.downs(), "no machine is taken for lost")
		require.Len(t, out.Plan.Problems, 1, "one for the region, not one for each group")
		assert.Contains(t, out.Plan.Problems[0].Text, "region europe-west4 could not be read, and nothing is done in it: ")
		assert.Equal(t, 1, w.log.FilterMessage(out.Plan.Problems[0].Text).Len(), "an admin can read of it")

		set(w, false)
		time.Sleep(10 * time.Minute)
		w.settle()
		assert.Contains(t, w.owned(), "request alpha-one-node-3/a1 for alpha-one-3: ACCEPTED")
		assert.NotContains(t, strings.Join(w.owned(), "\n"), "alpha-one-0")
	})
}

// slowSlurm is a slurmctld that lists its nodes slowly.
type slowSlurm struct{ *controller }

func (s slowSlurm) Nodes(ctx context.Context) ([]slurm.Node, error) {
	time.Sleep(2 * observe.SlurmAge)
	return s.controller.Nodes(ctx)
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
		assert.InDelta(t, 24*time.Hour, w.observed().Skew, float64(2*time.Second))
		w.passes(5, time.Second)
		assert.Equal(t, made, w.mutations())
		assert.Equal(t, slurm.JobConfiguring, w.slurm.queue()[1])
	}, func(o *fakegce.Options) { o.BootTime = time.Hour })
}
