package flex

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/test/fakegce"
)

// downs returns the nodes that were set DOWN.
func (w *world) downs() (nodes []string) {
	for _, u := range w.slurm.updates {
		if name, rest, _ := strings.Cut(u, " "); strings.HasPrefix(rest, "down ") {
			nodes = append(nodes, name)
		}
	}
	return nodes
}

func TestRestartFindsLostMachineByItsRequest(t *testing.T) {
	inWorld(t, func(w *world) {
		w.running(1, "train", "alpha-a3-[0-1]")
		require.NoError(w, w.cloud.DeleteVM("alpha-a3-1"))
		w.begin()
		w.mustPass()
		w.mustPass()
		assert.Equal(w, names("alpha-a3-1"), w.downs())
	})
}

// U14
func TestScheduledEndOfALostMachineIsRemembered(t *testing.T) {
	inWorld(t, func(w *world) {
		w.running(1, "shared", "alpha-a3-[0-1]")
		w.mustPass()
		ends := w.observed().Ends
		require.Contains(w, ends, "alpha-a3-1")
		require.NoError(w, w.cloud.DeleteVM("alpha-a3-1"))
		w.mustPass()
		assert.Equal(w, ends, w.observed().Ends)
		w.poweredDown("alpha-a3-1")
		assert.NotContains(w, w.observed().Ends, "alpha-a3-1")
		assert.Contains(w, w.observed().Ends, "alpha-a3-0")
	})
}

// A program that replaces a machine's metadata drops created-by, which names the group.
func TestMachineWithoutMetadataBelongsToTheGroupThatNamesIt(t *testing.T) {
	inWorld(t, func(w *world) {
		w.running(1, "train", "alpha-a3-[0-1]")
		w.fault(fakegce.Fault{Method: "instances.list", Broken: &fakegce.Broken{Name: "alpha-a3-1", Field: "metadata"}})
		w.begin()
		w.mustPass()
		w.mustPass()
		assert.Empty(w, w.downs())
		w.slurm.cancel(1)
		w.poweredDown("alpha-a3-0")
		w.poweredDown("alpha-a3-1")
		w.settle()
		assert.Empty(w, w.cloud.State().Instances)
	})
}
