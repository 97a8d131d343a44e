package flex

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAfterBootsThatFailNothingMoreIsAskedForUntilAnAdminLiftsIt(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		set := w.slurm.cfg.NodeSets[0]
		set.Flex.BootTimeout, set.Flex.BootFailures = time.Minute, 1
		w.slurm.deaf = true // no slurmd registers
		w.slurm.submit(1, "train", "alpha-a3-0")
		w.settle()
		time.Sleep(2 * time.Minute)
		w.settle()
		assert.Empty(t, w.owned(), "it did not come up, and is deleted")

		w.begin() // a process that remembers nothing
		w.slurm.submit(2, "train", "alpha-a3-1")
		w.settle()
		assert.Empty(t, w.owned(), "nothing more is asked for")
		assert.Contains(t, w.slurm.comment[2], "slurmflex unblock a3")

		nodes, err := Unblock(t.Context(), w.slurm, w.Config, "a3")
		require.NoError(t, err)
		assert.Equal(t, []string{"alpha-a3-0"}, nodes)
		w.settle()
		assert.Contains(t, w.owned(), "group alpha-a3-job-2 in us-central1 of size 1")
		nodes, err = Unblock(t.Context(), w.slurm, w.Config, "a3")
		require.NoError(t, err)
		assert.Empty(t, nodes, "there is nothing left to forget")
	})
}
