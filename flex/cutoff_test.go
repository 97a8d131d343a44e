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

func TestDeathAtAnyCallLeadsToTheSameState(t *testing.T) {
	for when, acts := range map[string]bool{"before the call acts": false, "after it has acted": true} {
		t.Run(when, func(t *testing.T) {
			calls := 1
			var want [][]string
			for last := 0; last <= calls; last++ { // at 0 no process dies
				inWorld(t, func(w *world) {
					w.wire.lastCall, w.wire.lastActs = last, acts
					stages := story(w)
					if last == 0 {
						want = stages
					}
					require.Equal(w, want, stages, "the process died at call %d", last)
					assert.Empty(w, w.owned())
					assert.Equal(w, map[uint32]slurm.JobState{}, w.slurm.queue())
					calls = max(calls, w.wire.calls)
				})
			}
			assert.Greater(t, calls, 20)
		})
	}
}
