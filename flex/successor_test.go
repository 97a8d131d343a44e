package flex

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/mig"
)

// successor has a newer slurmflex of the same cluster make a group for job 1,
// with a machine for node alpha-a3-0.
func (w *world) successor() {
	w.t.Helper()
	stamp := mig.Stamp{Version: mig.StampVersion + 1, Cluster: "alpha", NodeSet: "a3", Job: 1}
	require.NoError(w.t, w.Cloud.CreatePolicy(w.t.Context(), mig.PolicySpec{Name: "alpha-a3-job-1", Region: us, Stamp: stamp}))
	require.NoError(w.t, w.Cloud.CreateGroup(w.t.Context(), mig.GroupSpec{
		Name: "alpha-a3-job-1", Region: us, Zones: []string{"us-central1-a"}, Policy: "alpha-a3-job-1", Stamp: stamp,
		Template: "projects/demo/regions/us-central1/instanceTemplates/flex",
	}))
	require.NoError(w.t, w.Cloud.CreateRequest(w.t.Context(), us, "alpha-a3-job-1", mig.RequestSpec{
		Name: "a1", Instances: []string{"alpha-a3-0"}, Duration: 24 * time.Hour,
	}))
	time.Sleep(time.Minute)
	w.cloud.ResetCalls()
}

func TestWhatASuccessorMadeIsLeftAlone(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.successor()
		was := w.owned()
		w.Adopt = true
		stop := w.daemon(nil) // alpha-a3-0 is powered down, and job 1 unknown: ours would be deleted
		time.Sleep(time.Hour)
		stop()
		assert.Equal(t, was, w.owned())
		assert.Empty(t, w.mutations())
		assert.NotZero(t, w.log.FilterMessageSnippet("group alpha-a3-job-1 in us-central1 is left alone because a newer slurmflex created it").Len())
	})
}

func TestAJobWhoseGroupASuccessorMadeIsToldSo(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.successor()
		was := w.owned()
		w.slurm.submit(1, "train", "alpha-a3-[0-1]")
		stop := w.daemon(nil)
		time.Sleep(10 * time.Minute)
		stop()
		assert.Equal(t, was, w.owned())
		assert.Contains(t, w.slurm.comment[1], "a newer slurmflex created it")
	})
}
