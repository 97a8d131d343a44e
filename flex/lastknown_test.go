package flex

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"slurmflex/test/fakegce"
)

// C4: a region that cannot be read is one warning, and one line when it is read
// again; what was known of it stays to be seen, and nothing is done by it.
func TestWhatWasLastReadOfARegionStaysKnown(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.running(1, "shared", "alpha-one-0")
		w.cloud.SetCapacity("", "", 0)
		w.slurm.submit(2, "shared", "alpha-one-1")
		w.settle()
		_, before, err := w.Look(t.Context())
		require.NoError(t, err)
		seen, owned := time.Now(), w.owned()
		time.Sleep(time.Minute)

		require.NoError(t, w.cloud.AddFault(fakegce.Fault{Method: "regionInstanceGroupManagers.list", Object: "/europe-west4/", Status: http.StatusForbidden}))
		w.slurm.submit(3, "shared", "alpha-one-2")
		for range 5 {
			w.mustPass(t.Context())
			time.Sleep(time.Minute)
		}
		snap, p, err := w.Look(t.Context())
		require.NoError(t, err)
		known := snap.LastKnown["europe-west4"]
		assert.Len(t, known.Instances, 1)
		assert.WithinDuration(t, seen, known.At, time.Minute)
		require.Len(t, p.Waits, 2)
		assert.Equal(t, before.Waits[0].Request, p.Waits[0].Request, "it stands in Google's queue as before")
		assert.Contains(t, p.Waits[1].Obstacle, "region europe-west4 could not be read")
		assert.Equal(t, owned, w.owned())
		assert.Equal(t, 1, w.log.FilterLevelExact(zap.WarnLevel).Len(), "one warning for all that waits there")

		w.cloud.ClearFaults()
		w.settle()
		assert.Equal(t, 1, w.log.FilterMessage("region europe-west4 is read again").Len())
	})
}
