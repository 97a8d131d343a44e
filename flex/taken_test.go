package flex

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"slurmflex/flex/plan"
)

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
	}, func(w *world, test test) {
		w.waiting(1, "shared", "alpha-a3-[0-1]")
		w.slurm.cancel(1)
		w.slurm.updates = nil
		w.mustPass(func(p plan.Plan) plan.Plan { test.begin(w); return p })
		assert.Equal(w, test.want, w.slurm.updated())
	})
}
