package flex

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/test/fakegce"
)

// B4: the list of instances lags when a request has just been served that has
// waited for longer than lists ever lag.
func TestWhatAnOldRequestHasJustBroughtIsNotAskedForAgain(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.cloud.SetCapacity("", "", 0)
		w.slurm.submit(1, "train", "alpha-a3-[0-1]")
		w.settle()
		time.Sleep(time.Hour)
		require.NoError(t, w.cloud.AddFault(fakegce.Fault{Method: "instances.aggregatedList", Lag: time.Minute}))
		w.mustPass(t.Context())
		w.cloud.SetCapacity("", "", -1)
		for range 30 {
			w.mustPass(t.Context())
			time.Sleep(2 * time.Second)
		}
		w.cloud.ClearFaults()
		w.settle()
		assert.Equal(t, []string{"regionInstanceGroupManagers.insert", "regionInstanceGroupManagerResizeRequests.insert"}, w.mutations())
		assert.NotZero(t, w.cloud.Counts()["regionInstanceGroupManagers.listManagedInstances"], "the list has lagged")
	})
}

// B1: a group that counts a machine which is gone for good goes in the end.
func TestAGroupThatHasLostAMachineIsCollected(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.running(1, "train", "alpha-a3-[0-1]")
		require.NoError(t, w.cloud.DeleteVM("alpha-a3-1"))
		w.settle()
		assert.Contains(t, w.owned(), "group alpha-a3-job-1 in us-central1 of size 2")
		w.slurm.cancel(1)
		for range 10 {
			time.Sleep(time.Minute)
			w.settle()
		}
		assert.Empty(t, w.owned())
	})
}
