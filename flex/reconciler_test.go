package flex

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/flex/memory"
	"slurmflex/flex/plan"
	"slurmflex/flex/plan/action"
	"slurmflex/test/fakegce"
)

func TestAPass(t *testing.T) {
	eachStory(t, map[string]func(*world){
		"a job that starts while the cloud is slow keeps its nodes": func(w *world) {
			w.waiting(1, "shared", "alpha-a3-0")
			w.slurm.cancel(1)
			w.fault(fakegce.Fault{Method: "regionInstanceGroupManagers.list", Delay: 20 * time.Second})
			time.AfterFunc(10*time.Second, func() { w.slurm.submit(2, "shared", "alpha-a3-0") })
			w.slurm.reads = nil
			w.mustPass()
			assert.Len(w, w.slurm.reads, 2, "Slurm is read again, once")
			assert.NotContains(w, strings.Join(w.slurm.updated(), "\n"), "power_down", "job 2 has got the node that was powering up without a job")
			assert.Contains(w, w.owned(), "request alpha-a3-job-1/a1 for alpha-a3-0: ACCEPTED", "and what waits for it")
		},
		"collecting cancels no request that yields its place": func(w *world) {
			p := OnlyCollect(plan.Plan{Actions: []action.Action{action.CancelRequest{Request: "a1", Yields: true}, action.CancelRequest{Request: "a2"}}})
			assert.Equal(w, []action.Action{action.CancelRequest{Request: "a2"}}, p.Actions)
		},
		"a pass knows Slurm's partitions as they were ten minutes ago at most": func(w *world) {
			up := func() bool {
				snap := w.observed()
				require.Len(w, snap.Partitions, 2)
				assert.Equal(w, "shared", snap.Partitions[0].Name)
				return snap.Partitions[0].Up
			}
			assert.True(w, up())
			require.NoError(w, w.slurm.ClosePartition(w.Context(), "shared"))
			time.Sleep(memory.SettingsAge - time.Second)
			assert.True(w, up(), "read rarely")
			time.Sleep(time.Second)
			assert.False(w, up())
		},
	})
}

// E1: a zone that is no longer configured may contain a machine without a group, and may be dead
// when the process starts.
func TestMachineInADeadUnconfiguredZoneIsNotLost(t *testing.T) {
	inWorld(t, func(w *world) {
		set := w.slurm.cfg.NodeSets[0]
		set.Flex.UseBulkInsert = true
		w.running(1, "train", "alpha-a3-0")
		before, queued := w.slurm.updated(), w.slurm.queue()
		set.Zones = []string{"us-central1-b"}
		w.cloud.SetZoneDead("us-central1-a", true)
		w.begin() // a new process without memory
		w.passes(5, time.Minute)
		require.Error(w, w.observed().Unseen[us])
		assert.Equal(w, before, w.slurm.updated(), "its node stays up")
		assert.Equal(w, queued, w.slurm.queue())

		w.cloud.SetZoneDead("us-central1-a", false)
		time.Sleep(10 * time.Minute)
		w.passes(2, time.Minute)
		w.cloud.SetZoneDead("us-central1-f", true)
		assert.Empty(w, w.observed().Unseen, "no machine is missing")
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
	}, func(w *world, set func(*world, bool)) {
		w.running(1, "shared", "alpha-one-0")
		w.running(5, "shared", "alpha-one-1")
		w.waiting(2, "shared", "alpha-one-2")
		before := w.owned()
		w.slurm.cancel(1) // leaves a machine to delete
		w.poweredDown("alpha-one-0")
		w.slurm.cancel(2)                          // leaves a request to cancel
		w.slurm.submit(3, "shared", "alpha-one-3") // needs a new group
		w.slurm.submit(4, "train", "alpha-a3-0")   // needs a new group in a readable region
		set(w, true)
		out := w.mustPass()
		w.passes(10, time.Minute)
		assert.ElementsMatch(w, append(before,
			"group alpha-a3-job-4 in us-central1 of size 1",
			"request alpha-a3-job-4/a1 for alpha-a3-0: ACCEPTED",
		), w.owned())
		assert.Empty(w, w.downs(), "no machine is taken for lost")
		require.Len(w, out.Plan.Problems, 1, "one for the region, not one for each group")
		assert.Contains(w, out.Plan.Problems[0].Text, "region europe-west4 could not be read, and nothing is done in it: ")
		assert.Equal(w, 1, w.log.FilterMessage(out.Plan.Problems[0].Text).Len(), "an admin can read of it")

		set(w, false)
		time.Sleep(10 * time.Minute)
		w.settle()
		assert.Contains(w, w.owned(), "request alpha-one-node-3/a1 for alpha-one-3: ACCEPTED")
		assert.NotContains(w, strings.Join(w.owned(), "\n"), "alpha-one-0")
	})
}
