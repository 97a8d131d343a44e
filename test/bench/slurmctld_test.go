package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/flex"
	"slurmflex/slurm"
	"slurmflex/test/bench/site"
)

var _ flex.Scheduler = (*slurmctld)(nil)

func TestTheStandInForSlurmTellsWhatItIsToldInSlurmsWords(t *testing.T) {
	s := idleCluster(6)
	jobs := s.submit(2, 2, 0)
	nodes, err := s.Nodes(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []string{site.PoweringUp, site.PoweringUp, site.PoweringUp, site.PoweringUp, site.PoweredDown, site.PoweredDown}, states(nodes))
	queued, err := s.Jobs(t.Context())
	require.NoError(t, err)
	require.Len(t, queued, 2)
	assert.Equal(t, site.Nodes(2, 2), queued[1].Nodes)
	assert.Equal(t, slurm.JobConfiguring, queued[1].State)

	s.start(jobs[:1])
	require.NoError(t, s.UpdateNodes(t.Context(), jobs[1].Nodes, slurm.NodeChange{State: "power_down_force", Reason: "slurmflex: no capacity"}))
	queued, err = s.Jobs(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []slurm.JobState{slurm.JobRunning, slurm.JobPending}, []slurm.JobState{queued[0].State, queued[1].State})
	nodes, err = s.Nodes(t.Context())
	require.NoError(t, err)
	assert.Equal(t, "slurmflex: no capacity", nodes[2].Reason)
	assert.Equal(t, []string{site.Running, site.Running, site.PoweringDown, site.PoweringDown}, states(nodes)[:4])
	assert.ErrorContains(t, s.UpdateNodes(t.Context(), jobs[1].Nodes, slurm.NodeChange{State: "drain"}), "drain")

	s.cancel(jobs[1].ID)
	q, looks := s.look()
	assert.Len(t, q.Jobs, 1)
	assert.Equal(t, 2, looks)
}

// states are the nodes' states in the order of Slurm's words in package site.
func states(nodes []slurm.Node) []string {
	var all []string
	for _, n := range nodes {
		for _, s := range []string{site.PoweredDown, site.PoweringUp, site.Running, site.PoweringDown} {
			if n.State == slurm.ParseState(s) {
				all = append(all, s)
			}
		}
	}
	return all
}
