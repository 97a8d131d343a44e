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

func wantStory() [][]string {
	one := []string{
		"group alpha-a3-job-1 in us-central1 of size 2",
		"request alpha-a3-job-1/a1 for alpha-a3-[0-1]: SUCCEEDED",
	}
	two := []string{
		"group alpha-a3-job-2 in us-central1 of size 1",
		"request alpha-a3-job-2/a1 for alpha-a3-2: ACCEPTED",
	}
	machines := []string{
		"instance alpha-a3-0 of alpha-a3-job-1: RUNNING",
		"instance alpha-a3-1 of alpha-a3-job-1: RUNNING",
	}
	return [][]string{
		append(one[:2:2], machines...), append(append(one[:2:2], two...), machines...), append(one[:2:2], machines...), {},
	}
}

func TestDeathAtAnyCallLeadsToTheSameState(t *testing.T) {
	for when, acts := range map[string]bool{"before the call acts": false, "after it has acted": true} {
		t.Run(when, func(t *testing.T) {
			calls := 1
			for last := 0; last <= calls; last++ { // at 0 no process dies
				inWorld(t, func(t *testing.T, w *world) {
					w.wire.lastCall, w.wire.lastActs = last, acts
					require.Equal(t, wantStory(), story(w), "the process died at call %d", last)
					assert.Equal(t, map[uint32]slurm.JobState{}, w.slurm.queue())
					calls = max(calls, w.wire.calls)
				})
			}
			assert.Greater(t, calls, 20)
		})
	}
}
