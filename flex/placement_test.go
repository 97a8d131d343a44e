package flex

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/test/fakegce"
)

// placing has the nodes of a3 come close together, on machines that can.
func placing(t *testing.T, w *world) {
	t.Helper()
	link, err := w.cloud.AddTemplate(us, fakegce.FlexTemplate("close", "a4-highgpu-8g"))
	require.NoError(t, err)
	set := w.slurm.cfg.NodeSets[0]
	set.Template, set.Placement, set.PlacementDistance = link, true, 2
}

func TestAPlacementComesBeforeItsGroupAndGoesAfterIt(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		placing(t, w)
		w.running(1, "train", "alpha-a3-[0-1]")
		require.Len(t, w.cloud.State().Policies, 1)
		w.slurm.cancel(1)
		w.settle()
		assert.Empty(t, w.owned())
		assert.Empty(t, w.cloud.State().Policies)
	})
}

func TestAPlacementThatIsRefusedGivesTheNodesBackAndLeavesNothing(t *testing.T) {
	const words = "Required 'compute.resourcePolicies.create' permission for 'projects/demo'"
	faults := map[string]fakegce.Fault{
		"at once":          {Status: http.StatusForbidden, Message: words},
		"in its operation": {OperationError: &fakegce.Problem{Code: "PERMISSION_DENIED", Message: words}},
	}
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				placing(t, w)
				fault.Method = "resourcePolicies.insert"
				require.NoError(t, w.cloud.AddFault(fault))
				w.slurm.submit(1, "train", "alpha-a3-[0-1]")
				w.settle()
				assert.Empty(t, w.owned(), "no group without its placement")
				assert.Equal(t, []uint32{1}, w.slurm.held)
				assert.Contains(t, w.slurm.comment[1], words)
			})
		})
	}
}
