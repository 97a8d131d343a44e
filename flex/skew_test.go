package flex

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/slurm"
	"slurmflex/test/fakegce"
)

// B10: the host's clock jumps a day ahead while machines boot.
func TestAClockThatJumpsGivesNoMachineBack(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.slurm.submit(1, "train", "alpha-a3-[0-1]")
		for range 20 {
			w.mustPass(t.Context())
			time.Sleep(time.Second)
		}
		require.Len(t, w.cloud.State().Instances, 2)
		made := w.mutations()
		w.Now = func() time.Time { return time.Now().Add(24 * time.Hour) }
		snap, err := w.Observe(t.Context())
		require.NoError(t, err)
		assert.InDelta(t, 24*time.Hour, snap.Skew, float64(2*time.Second))
		for range 5 {
			w.mustPass(t.Context())
			time.Sleep(time.Second)
		}
		assert.Equal(t, made, w.mutations())
		snap, err = w.Observe(t.Context())
		require.NoError(t, err)
		assert.Equal(t, slurm.JobConfiguring, snap.Jobs[0].State)
	}, func(o *fakegce.Options) { o.BootTime = time.Hour })
}
