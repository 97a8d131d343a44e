package view

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAheadCountsNodesAndJobs(t *testing.T) {
	for want, a := range map[string]Ahead{
		"12 nodes of 3 jobs of this cluster": {Nodes: 12, Jobs: 3},
		"1 node of 1 job of this cluster":    {Nodes: 1, Jobs: 1},
		"2 nodes of this cluster":            {Nodes: 2},
		"no nodes of this cluster":           {},
	} {
		assert.Equal(t, want, a.String())
	}
}

func TestWhyShowsTheQueuePosition(t *testing.T) {
	s := busy()
	for i := range uint32(2) {
		s.pending(820+i, "Priority").NodeCount = 3
	}
	for job, want := range map[string]string{"821": "7 nodes of 4 jobs of this cluster", "813": ""} {
		answer, err := s.view().Why(job, noon, nil)
		require.NoError(t, err)
		assert.Equal(t, want, answer.Ahead)
	}
}
