package fakegce

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	pathM = "regions/us-central1/instanceGroupManagers/m"
)

func TestGroupDoesNotRepairALostVM(t *testing.T) {
	for _, booting := range []bool{true, false} {
		w := granted(t, slow(), "lost", "stopped")
		w.Advance(10 * time.Second)
		if !booting {
			w.Advance(10 * time.Second)
		}
		require.NoError(t, w.DeleteVM("lost"))
		require.NoError(t, w.StopVM("stopped"))
		assert.Equal(t, "2; r SUCCEEDED; lost NONE; stopped NONE TERMINATED;", w.shows())
		assert.Nil(t, w.members("m")["lost"].InstanceStatus)
		assert.NotEmpty(t, w.members("m")["lost"].GetInstance(), "its URL stays")
		w.Advance(2 * time.Hour)
		assert.Equal(t, "2; r SUCCEEDED; lost NONE; stopped NONE TERMINATED;", w.shows(), "a stopped instance has no lease to end")
		assert.Zero(t, w.vm("stopped").Terminates)

		w.begun(w.deleteInstances("m", "zones/us-central1-a/instances/lost", "zones/us-central1-a/instances/stopped"))
		w.Advance(time.Minute)
		assert.Equal(t, "0; r SUCCEEDED;", w.shows())
		assert.Error(t, w.DeleteVM("lost"))
	}
}
