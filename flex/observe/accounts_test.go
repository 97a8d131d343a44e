package observe

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"

	"slurmflex/config"
	"slurmflex/flex/memory"
	"slurmflex/flex/plan/scene"
	"slurmflex/slurm"
	"slurmflex/test/scenetest"
)

// charging is a Slurm where each job has the account bio. It counts the reads.
type charging struct {
	Scheduler
	reads *[][]uint32
	err   error
}

func (c charging) Accounts(_ context.Context, ids []uint32) (map[uint32]string, error) {
	*c.reads = append(*c.reads, ids)
	accounts := map[uint32]string{}
	for _, id := range ids {
		accounts[id] = "bio"
	}
	return accounts, c.err
}

func TestAccountsAreReadOnceForPlannedJobsAndJobsOnOurNodes(t *testing.T) {
	var reads [][]uint32
	cfg := scenetest.Cluster("slurmflex: {limits: {bio: {account: bio, gpu_hours: 1}}}", scenetest.FlexSet("a3", "us-central1-a", "node_count_dynamic_max: 4", ""))
	o := Observer{Config: cfg, Memory: &memory.Memory{}}
	snap := scene.Snapshot{Slurm: scene.Slurm{Jobs: []slurm.Job{
		{ID: 1, State: slurm.JobPending, Planned: scenetest.Names("alpha-a3-0")},
		{ID: 2, State: slurm.JobRunning, Nodes: scenetest.Names("alpha-a3-1")},
		{ID: 3, State: slurm.JobPending},
		{ID: 4, State: slurm.JobRunning, Nodes: scenetest.Names("other-0")},
	}}}
	o.Slurm = charging{nil, &reads, errors.New("no answer")}
	o.observeAccounts(t.Context(), &snap)
	assert.ErrorContains(t, snap.AccountsErr, "read accounts of jobs: no answer")
	snap.AccountsErr = nil
	o.Slurm = charging{reads: &reads}
	for range 2 {
		o.observeAccounts(t.Context(), &snap)
		assert.Equal(t, map[uint32]string{1: "bio", 2: "bio"}, snap.Accounts)
	}
	assert.Equal(t, [][]uint32{{1, 2}, {1, 2}}, reads, "again after a failure, and not a third time")
	cfg.Options.Limits = []config.Limit{{User: "ada", GPUHours: 1}}
	o.Memory = &memory.Memory{}
	o.observeAccounts(t.Context(), &snap)
	assert.Len(t, reads, 2, "no limit is of an account")
}
