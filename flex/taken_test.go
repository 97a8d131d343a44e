package flex

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/flex/plan/action"
	"slurmflex/slurm"
)

// late is a controller that gives nodes to a job after a pass has read the queue.
type late struct {
	*controller
	reads int
	begin func()
}

func (l *late) Jobs(ctx context.Context) ([]slurm.Job, error) {
	jobs, err := l.controller.Jobs(ctx)
	if l.reads++; l.reads == 1 {
		l.begin()
	}
	return jobs, err
}

// G7
func TestJobKeepsNodesAllocatedDuringAPass(t *testing.T) {
	type test struct {
		begin func(w *world)
		want  []string
	}
	eachInWorld(t, map[string]test{
		"none": {func(*world) {}, []string{"alpha-a3-[0-1] power_down_force slurmflex: no job waits for this node any more"}},
		"one":  {func(w *world) { w.slurm.submit(2, "shared", "alpha-a3-1") }, []string{"alpha-a3-0 power_down_force slurmflex: no job waits for this node any more"}},
		"all":  {func(w *world) { w.slurm.submit(2, "shared", "alpha-a3-[0-1]") }, nil},
	}, func(t *testing.T, w *world, test test) {
		w.waiting(1, "shared", "alpha-a3-[0-1]")
		w.slurm.cancel(1)
		w.Reconciler.Scheduler = &late{w.slurm, 0, func() { test.begin(w) }}
		w.slurm.updates = nil
		w.mustPass()
		assert.Equal(t, test.want, w.slurm.updated())
	})
}

// G7
func TestJobKeepsNodesOfAReturnedJob(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.waiting(1, "train", "alpha-a3-0")
		w.slurm.submit(2, "shared", "alpha-a3-0")
		w.slurm.updates = nil
		err := w.hands().Do(t.Context(), action.ReturnNodes{OfJob: action.OfJob{Job: 1}, Nodes: []string{"alpha-a3-0"}, Then: action.Hold})
		require.EqualError(t, err, "left alone: alpha-a3-0 is job 2's")
		assert.Empty(t, w.slurm.held)
		assert.Empty(t, w.slurm.updates)
	})
}
