package flex

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/config"
	"slurmflex/flex/plan/scene"
	"slurmflex/mig"
	"slurmflex/slurm"
)

func TestANodesetRestsFromARefusalUntilMachinesHaveCome(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		spot := w.slurm.cfg.NodeSets[0].Flex
		spot.Capacity, spot.UseBulkInsert, spot.MaxRunDuration = config.Spot, true, 0
		rest := func() slurm.Reservation { return w.slurm.eol["slurmflex-alpha.rest-a3"] }
		w.cloud.SetCapacity("", "", 0)
		w.slurm.submit(1, "train", "alpha-a3-0")
		w.slurm.jobs[2] = &slurm.Job{ID: 2, ArrayID: 2, Partition: "train,cpu", State: slurm.JobPending, NodeCount: 1}
		w.passes(3, 5*time.Second)
		require.Equal(t, "alpha-a3-[1-7]", slurm.Fold(rest().Nodes))
		assert.Equal(t, 5*time.Minute, rest().End.Sub(rest().Start))
		w.begin()
		w.passes(2, 5*time.Second)
		assert.NotEmpty(t, rest().Nodes, "a restart leaves it to Slurm")

		w.cloud.SetCapacity("", "", -1)
		w.passes(18, 10*time.Second)
		assert.Empty(t, rest().Nodes)
	})
}

func TestRefusalsOfANodesetCountOnceForEachRest(t *testing.T) {
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	none := &mig.Error{Cause: mig.CauseCapacity, Err: errors.New("none")}
	var s stockouts
	knows := func(times int, when string, after time.Duration) {
		t.Helper()
		assert.Equal(t, map[string]scene.Stockout{"spot": {At: at.Add(after), Times: times}}, s.matter(at.Add(after)), when)
	}
	s.note("spot", none, at)
	s.note("spot", none, at.Add(2*time.Minute))
	knows(1, "a burst", 0)
	s.note("spot", &mig.Error{Cause: mig.CauseQuota, Err: errors.New("none left")}, at.Add(6*time.Minute))
	knows(1, "another cause", 0)
	s.note("spot", none, at.Add(5*time.Minute))
	knows(2, "after the rest", 5*time.Minute)
	s.note("spot", none, at.Add(9*time.Minute+59*time.Second))
	assert.False(t, s.matter(at.Add(10 * time.Minute))["spot"].Probed, "in the first half")
	s.note("spot", none, at.Add(10*time.Minute))
	assert.Equal(t, scene.Stockout{At: at.Add(5 * time.Minute), Times: 2, Probed: true}, s.matter(at.Add(10 * time.Minute))["spot"], "in the second half")
	s.note("spot", nil, at.Add(6*time.Minute))
	knows(0, "machines have come", 6*time.Minute)
	s.note("spot", none, at.Add(7*time.Minute))
	knows(1, "it begins again", 7*time.Minute)
	assert.Empty(t, s.matter(at.Add(2*time.Hour)), "long ago")
	s.note("spot", nil, at.Add(24*time.Hour))
	assert.Empty(t, s.matter(at), "by a clock that was ahead")
}
