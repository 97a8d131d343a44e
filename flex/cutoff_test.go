package flex

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/slurm"
)

// story runs two jobs, one of them without capacity for its node. It returns the cloud's contents
// at each stage.
func story(w *world) (stages [][]string) {
	stage := func() {
		w.settle()
		stages = append(stages, w.owned())
	}
	w.served(1, "train", "alpha-a3-[0-1]")
	time.Sleep(time.Minute)
	stage()
	w.soldOut()
	w.slurm.submit(2, "train", "alpha-a3-2")
	stage()
	w.slurm.cancel(2)
	stage()
	w.slurm.cancel(1)
	stage()
	return stages
}

// dying runs a test for each step-th of its calls to Compute, at which the process dies before or after the call acts.
// At 0 no process dies.
func dying(t *testing.T, step int, prepare func(*world), run func(w *world, last int)) {
	for when, acts := range map[string]bool{"before the call acts": false, "after it has acted": true} {
		t.Run(when, func(t *testing.T) {
			t.Parallel()
			calls := 1
			for last := 0; last <= calls; last += step {
				inWorld(t, func(w *world) {
					prepare(w)
					w.wire.calls, w.wire.lastCall, w.wire.lastActs = 0, last, acts
					run(w, last)
					calls = max(calls, w.wire.calls)
				})
			}
			assert.Greater(t, calls, 20)
		})
	}
}

func TestDeathAtAnyCallLeadsToTheSameState(t *testing.T) {
	var want [][]string
	inWorld(t, func(w *world) { want = story(w) })
	dying(t, 1, func(*world) {}, func(w *world, last int) {
		require.Equal(w, want, story(w), "the process died at call %d", last)
		assert.Empty(w, w.owned())
		assert.Equal(w, map[uint32]slurm.JobState{}, w.slurm.queue())
	})
}
