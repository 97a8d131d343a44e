package gce_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/mig"
)

func TestCachedRowsEqualParsedRows(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		ctx := t.Context()
		require.NoError(t, w.CreateGroup(ctx, w.spec("alpha-x", 1)))
		require.NoError(t, w.CreateRequest(ctx, region, "alpha-x", request("alpha-a3-0", "alpha-a3-1")))
		for step := range 40 {
			seen := readAll(t, w.Client)
			assert.Equal(t, readAll(t, another(t, w.cloud.Transport())), seen, "step %d", step)
			switch step {
			case 10:
				require.NoError(t, w.DeleteInstances(ctx, region, "alpha-x", seen.instances[:1]))
			case 20: // another item of the same name
				again := mig.RequestSpec{Name: "a2", Instances: []string{"alpha-a3-0"}, Duration: time.Hour}
				require.NoError(t, w.CreateRequest(ctx, region, "alpha-x", again))
			case 30:
				require.NoError(t, w.DeleteGroup(ctx, region, "alpha-x"))
			}
			time.Sleep(4 * time.Second)
		}
	})
}
