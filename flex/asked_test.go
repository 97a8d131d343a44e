package flex

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/config"
)

// A rejected bulk insert leaves no record in Compute, so the process measures the time itself.
func TestProvisionTimeoutCountsRefusalsOverPasses(t *testing.T) {
	inWorld(t, func(w *world) {
		a3 := w.slurm.cfg.NodeSets[0].Flex
		a3.Capacity, a3.UseBulkInsert, a3.MaxRunDuration, a3.MaxAttempts = config.Spot, true, 0, 1000
		a3.ProvisionTimeout, a3.OnProvisionTimeout = time.Hour, "cancel"
		w.soldOut()
		w.oneJob()
		w.passes(55, time.Minute)
		assert.Contains(w, w.slurm.queue(), uint32(1))
		w.passes(10, time.Minute)
		assert.Empty(w, w.slurm.queue())
	})
}
