package flex

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/test/fakegce"
)

func TestWhatAListDoesNotShowYetIsNotMadeTwice(t *testing.T) {
	for name, list := range map[string]string{
		"the list of groups":   "regionInstanceGroupManagers.list",
		"the list of requests": "regionInstanceGroupManagerResizeRequests.list",
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.cloud.SetCapacity("", "", 0)
				require.NoError(t, w.cloud.AddFault(fakegce.Fault{Method: list, Lag: 30 * time.Second}))
				w.slurm.submit(1, "train", "alpha-a3-[0-1]")
				for range 20 {
					w.mustPass(t.Context())
					time.Sleep(2 * time.Second)
				}
				assert.Equal(t, []string{"regionInstanceGroupManagers.insert", "regionInstanceGroupManagerResizeRequests.insert"}, w.mutations())
				assert.NotContains(t, w.slurm.comment[1], "there already")
				w.slurm.cancel(1)
				time.Sleep(time.Minute)
				w.settle()
				time.Sleep(3 * time.Minute)
				w.settle()
				assert.Empty(t, w.owned())
			})
		})
	}
}

func TestInstancesThatNoListShowsYetAreNotInsertedTwice(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.slurm.cfg.NodeSets[0].Flex.UseBulkInsert = true
		require.NoError(t, w.cloud.AddFault(fakegce.Fault{Method: "instances.aggregatedList", Lag: 30 * time.Second}))
		w.slurm.submit(1, "train", "alpha-a3-[0-1]")
		for range 20 {
			w.mustPass(t.Context())
			time.Sleep(2 * time.Second)
		}
		assert.Equal(t, 1, w.cloud.Counts()["instances.bulkInsert"]+w.cloud.Counts()["regionInstances.bulkInsert"])
		assert.Len(t, w.cloud.State().Instances, 2)
	})
}

func TestARequestThatIsBeingMadeCountsAsActive(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.slurm.cfg.Options.MaxActiveRequests = 1
		w.cloud.SetCapacity("", "", 0)
		h := hang(w, "alpha-a3-job-1")
		w.slurm.submit(1, "train", "alpha-a3-0")
		_, err := w.pass(t.Context(), 2*time.Second)
		require.NoError(t, err)
		w.slurm.submit(2, "train", "alpha-a3-1")
		_, err = w.pass(t.Context(), 2*time.Second)
		require.NoError(t, err)
		assert.Equal(t, map[string]int{"alpha-a3-job-1": 1}, h.begun())
		close(h.let)
		w.mustPass(t.Context())
		assert.Equal(t, map[string]int{"alpha-a3-job-1": 1}, h.begun())
	})
}

func TestARequestWhoseGroupIsBeingMadeHasItsTurn(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.slurm.cfg.Options.MaxActiveRequests = 1
		w.cloud.SetCapacity("", "", 0)
		w.slurm.submit(1, "train", "alpha-a3-0")
		_, err := w.pass(t.Context(), 100*time.Millisecond) // the group takes a second
		require.NoError(t, err)
		w.slurm.submit(2, "train", "alpha-a3-1")
		w.slurm.jobs[2].Priority = 100
		_, err = w.pass(t.Context(), 100*time.Millisecond)
		require.NoError(t, err)
		time.Sleep(10 * time.Second)
		w.mustPass(t.Context())
		groups := w.cloud.State().Groups
		require.Len(t, groups, 1)
		assert.Equal(t, "alpha-a3-job-1", groups[0].Name)
	})
}
