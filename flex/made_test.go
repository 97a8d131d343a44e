package flex

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/flex/plan/memo"
	"slurmflex/slurm"
	"slurmflex/test/fakegce"
	"slurmflex/test/must"
)

// D10: another process, such as down --now, deletes what this process created.
func TestGroupThatDisappearsFromAListIsDeleted(t *testing.T) {
	inWorld(t, func(w *world) {
		seen := func() (groups, requests int) {
			s, _ := w.look()
			for _, g := range s.Seen.Groups {
				requests += len(g.Requests)
			}
			return len(s.Seen.Groups), requests
		}
		w.soldOut()
		w.slurm.submit(1, "train", "alpha-a3-[0-1]")
		w.passes(3, 2*time.Second)
		require.NoError(w, w.Cloud.CancelRequest(w.Context(), us, "alpha-a3-job-1", "a1"))
		require.NoError(w, w.Cloud.DeleteRequest(w.Context(), us, "alpha-a3-job-1", "a1"))
		groups, requests := seen()
		assert.Equal(w, 1, groups)
		assert.Zero(w, requests)
		require.NoError(w, w.Cloud.DeleteGroup(w.Context(), us, "alpha-a3-job-1"))
		groups, _ = seen()
		assert.Zero(w, groups)
	})
}

func TestListedInstancesWithoutCapacityChangeNothing(t *testing.T) {
	inWorld(t, func(w *world) {
		w.soldOut()
		w.served(1, "train", "alpha-a3-[0-1]")
		asked := w.mutations()
		w.passes(300, time.Minute) // longer than any boot timeout
		assert.Equal(w, asked, w.mutations())
		assert.Equal(w, slurm.JobConfiguring, w.slurm.queue()[1])

		w.slurm.cancel(1)
		time.Sleep(time.Minute)
		w.settle()
		assert.Empty(w, w.owned())
	}, func(o *fakegce.Options) { o.Switches.PendingInstances = true })
}

// Chaos, day 8148: a list showed an instance without a group, and the next list omitted that
// instance.
func TestInstancesOmittedFromAListAreNotInsertedTwice(t *testing.T) {
	inWorld(t, func(w *world) {
		w.slurm.cfg.NodeSets[0].Flex.UseBulkInsert = true
		w.slurm.submit(1, "train", "alpha-a3-[0-1]")
		w.passes(4, 2*time.Second)
		require.Len(w, w.cloud.State().Instances, 2)
		time.Sleep(130 * time.Second)
		w.fault(fakegce.Fault{Method: "instances.list", Omitted: "alpha-a3-1"})
		w.passes(10, 2*time.Second)
		assert.Equal(w, 1, w.cloud.Counts()["instances.bulkInsert"]+w.cloud.Counts()["regionInstances.bulkInsert"])
	}, func(o *fakegce.Options) { o.BootTime = 5 * time.Minute })
}

func TestAdminsBlockOutlastsTheDaemonUntilUnblock(t *testing.T) {
	inWorld(t, func(w *world) {
		w.waiting(1, "train", "alpha-a3-0")
		assert.Contains(w, w.owned(), "group alpha-a3-job-1 in us-central1 of size 1")

		foreign := "rack 7"
		require.NoError(w, w.slurm.UpdateNodes(w.Context(), names("alpha-a3-7"), slurm.NodeChange{Extra: &foreign}))
		blocked, err := Block(w.Context(), w.slurm, w.Config, "a3", memo.Block{At: time.Now(), Cancels: true, Why: "driver update"})
		require.NoError(w, err)
		assert.Equal(w, names("alpha-a3-[0-6]"), blocked)
		w.settle()
		w.begin() // a new process without memory
		w.served(2, "train", "alpha-a3-1")
		assert.Equal(w, []string{"request alpha-a3-job-1/a1 for alpha-a3-0: CANCELLED"}, slices.DeleteFunc(w.owned(), func(line string) bool { return strings.HasPrefix(line, "group ") }))
		for _, job := range []uint32{1, 2} {
			assert.Contains(w, w.slurm.comment(job), "nodeset a3 is blocked by an admin: driver update")
		}

		unblocked, err := Unblock(w.Context(), w.slurm, w.Config, "a3")
		require.NoError(w, err)
		assert.Equal(w, blocked, unblocked)
		w.settle()
		assert.Contains(w, w.owned(), "group alpha-a3-job-2 in us-central1 of size 1")

		require.NoError(w, w.slurm.UpdateNodes(w.Context(), blocked, slurm.NodeChange{Extra: &foreign}))
		_, err = Block(w.Context(), w.slurm, w.Config, "a3", memo.Block{At: time.Now()})
		assert.EqualError(w, err, "the Extra of every node has another program's text; clear one (scontrol update nodename=alpha-a3-0 extra=)")
	})
}

// placing gives nodeset a3 compact placement and a machine type that supports it.
func placing(w *world) {
	w.Helper()
	link := must.Get(w.cloud.AddTemplate(us, fakegce.FlexTemplate("close", "a4-highgpu-8g")))
	set := w.slurm.cfg.NodeSets[0]
	set.Template, set.Placement, set.PlacementDistance = link, true, 2
}

func TestPlacementOutlivesItsGroup(t *testing.T) {
	inWorld(t, func(w *world) {
		placing(w)
		w.running(1, "train", "alpha-a3-[0-1]")
		require.Len(w, w.cloud.State().Policies, 1)
		w.cancelled(1)
		assert.Empty(w, w.owned())
		assert.Empty(w, w.cloud.State().Policies)
	})
}

func TestRejectedPlacementReturnsNodesAndLeavesNothing(t *testing.T) {
	inWorld(t, func(w *world) {
		placing(w)
		w.refuses("resourcePolicies.insert", "PERMISSION_DENIED", "Required 'compute.resourcePolicies.create' permission")
		w.served(1, "train", "alpha-a3-[0-1]")
		assert.Empty(w, w.owned(), "no group without its placement")
		assert.Equal(w, []uint32{1}, w.slurm.held())
		assert.Contains(w, w.slurm.comment(1), "Required 'compute.resourcePolicies.create' permission")
	})
}
