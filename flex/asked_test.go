package flex

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/config"
	"slurmflex/slurm"
)

// G1
func TestQueuedJobIsNotCancelled(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.slurm.cfg.Options.MaxActiveRequests = 1
		a3 := w.slurm.cfg.NodeSets[0].Flex
		w.soldOut()
		w.slurm.submit(1, "train", "alpha-a3-0")
		w.slurm.submit(2, "train", "alpha-a3-1")
		began := time.Now()
		w.slurm.jobs[1].Start, w.slurm.jobs[2].Start = began, began
		w.passes(10, 10*time.Minute)
		a3.ProvisionTimeout, a3.OnProvisionTimeout = time.Hour, config.Cancel
		w.passes(3, 10*time.Second)
		synctest.Wait()
		assert.Equal(t, map[uint32]slurm.JobState{2: slurm.JobConfiguring}, w.slurm.queue(), "job 1 had its hour")

		w.passes(6, 9*time.Minute)
		assert.Contains(t, w.slurm.queue(), uint32(2))
		w.passes(3, 9*time.Minute)
		assert.Empty(t, w.slurm.queue(), "and now job 2 had its own")
	})
}

// A rejected bulk insert leaves no record in Compute, so the process measures the time itself.
func TestProvisionTimeoutCountsRefusalsOverPasses(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a3 := w.slurm.cfg.NodeSets[0].Flex
		a3.Capacity, a3.UseBulkInsert, a3.MaxRunDuration, a3.MaxAttempts = config.Spot, true, 0, 1000
		a3.ProvisionTimeout, a3.OnProvisionTimeout = time.Hour, config.Cancel
		w.soldOut()
		w.slurm.submit(1, "train", "alpha-a3-0")
		w.slurm.jobs[1].Start = time.Now()
		w.passes(55, time.Minute)
		assert.Contains(t, w.slurm.queue(), uint32(1))
		w.passes(10, time.Minute)
		assert.Empty(t, w.slurm.queue())
	})
}
