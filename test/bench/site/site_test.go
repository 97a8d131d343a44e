package site

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/config"
	"slurmflex/flex/plan"
	"slurmflex/slurm"
	"slurmflex/test/fakeslurm"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func cluster(t *testing.T, nodes int) *config.Config {
	t.Helper()
	cfg, err := Config(nodes)
	require.NoError(t, err)
	return cfg
}

func TestNothingIsToBeDoneInASteadyCluster(t *testing.T) {
	cfg := cluster(t, 5000)
	snap := Steady(cfg, noon)
	assert.Empty(t, plan.Compute(cfg, snap).Actions)
	assert.Len(t, snap.Jobs, 1020)
	assert.Len(t, snap.Groups, 1020)
	assert.Len(t, snap.Instances, 4000)
	assert.NotEmpty(t, snap.Reservations)
}

func TestEveryNodeOfARisingClusterIsAskedForAndEveryMachineOfALeavingOneDeleted(t *testing.T) {
	cfg := cluster(t, 400)
	asked, deleted := 0, 0
	for _, a := range plan.Compute(cfg, Rising(cfg, noon)).Actions {
		if r, ok := a.(plan.CreateRequest); ok {
			asked += len(r.Spec.Instances)
		}
	}
	for _, a := range plan.Compute(cfg, Leaving(cfg, noon)).Actions {
		if d, ok := a.(plan.DeleteInstances); ok {
			deleted += len(d.Instances)
		}
	}
	assert.Equal(t, []int{400, 400}, []int{asked, deleted})
}

func TestWhatSlurmWouldPrintIsReadBack(t *testing.T) {
	cfg := cluster(t, 500)
	snap := Steady(cfg, noon)
	snap.Nodes[7].Comment, snap.Nodes[8].Reason, snap.Nodes[8].ReasonBy = "slurmflex: waits", "slurmflex: no capacity", "root"
	snap.Nodes[9].LastBusyTime = noon

	nodes, err := slurm.ParseNodes([]byte(fakeslurm.PrintNodes(snap.Nodes)))
	require.NoError(t, err)
	assert.Equal(t, snap.Nodes, nodes)

	jobs, err := slurm.ParseSqueue([]byte(fakeslurm.PrintJobs(snap.Jobs)))
	require.NoError(t, err)
	assert.Equal(t, snap.Jobs, jobs)

	reservations, err := slurm.ParseReservations([]byte(fakeslurm.PrintReservations(snap.Reservations)))
	require.NoError(t, err)
	require.Len(t, reservations, len(snap.Reservations))
	for i, r := range reservations {
		want := snap.Reservations[i]
		assert.Equal(t, []any{want.Name, want.Start}, []any{r.Name, r.Start})
		assert.ElementsMatch(t, want.Nodes, r.Nodes)
	}
	resumed, err := slurm.ResumedJobs(ResumeFile(snap.Jobs))
	require.NoError(t, err)
	require.Len(t, resumed, len(snap.Jobs))
	assert.Equal(t, snap.Jobs[3].ID, resumed[3])
}
