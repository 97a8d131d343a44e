package site

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/config"
	"slurmflex/flex/plan"
	"slurmflex/flex/plan/action"
	"slurmflex/flex/plan/scene"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func cluster(t *testing.T, nodes int) *config.Config {
	t.Helper()
	cfg, err := Config(nodes)
	require.NoError(t, err)
	return cfg
}

func TestSteadyClusterNeedsNoActions(t *testing.T) {
	cfg := cluster(t, 5000)
	snap := Steady(cfg, noon)
	assert.Empty(t, plan.Compute(scene.Of(cfg, snap)).Actions)
	assert.Len(t, snap.Jobs, 1020)
	assert.Len(t, snap.Groups, 1020)
	assert.Len(t, snap.Instances, 4000)
	assert.NotEmpty(t, snap.Reservations)
}

func TestRisingRequestsEveryNodeAndLeavingDeletesEveryMachine(t *testing.T) {
	cfg := cluster(t, 400)
	asked, deleted := 0, 0
	for _, a := range plan.Compute(scene.Of(cfg, Rising(cfg, noon))).Actions {
		if r, ok := a.(action.CreateRequest); ok {
			asked += len(r.Spec.Instances)
		}
	}
	for _, a := range plan.Compute(scene.Of(cfg, Leaving(cfg, noon))).Actions {
		if d, ok := a.(action.DeleteInstances); ok {
			deleted += len(d.Instances)
		}
	}
	assert.Equal(t, []int{400, 400}, []int{asked, deleted})
}

func TestEveryJobOfAWaitingClusterHasADoorAndRequest(t *testing.T) {
	cfg := cluster(t, 400)
	snap := Waiting(cfg, noon.Add(time.Second/2), 100, 4)
	assert.Empty(t, plan.Compute(scene.Of(cfg, snap)).Actions)
	assert.Len(t, snap.Groups, 100)
	assert.Len(t, snap.Reservations, 101, "the cover and the doors")
}
