package flex

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/slurm"
)

func TestAPassKnowsSlurmsPartitionsAsTheyWereTenMinutesAgoAtMost(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		known := func() slurm.Limit {
			snap, err := w.Observe(t.Context())
			require.NoError(t, err)
			require.Len(t, snap.Partitions, 2)
			assert.Equal(t, "shared", snap.Partitions[0].Name)
			return snap.Partitions[0].MaxTime
		}
		hour, day := slurm.ParseLimit("1:00:00"), slurm.ParseLimit("1-00:00:00")
		w.slurm.maxTime = hour
		assert.Equal(t, hour, known())
		w.slurm.maxTime = day
		time.Sleep(settingsAge - time.Second)
		assert.Equal(t, hour, known(), "read rarely")
		time.Sleep(time.Second)
		assert.Equal(t, day, known())
	})
}
