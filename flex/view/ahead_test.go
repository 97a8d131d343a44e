package view

import (
	"testing"
	"time"

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

func TestWhyAndStatusShowTheQueuePosition(t *testing.T) {
	s := busy()
	for i := range uint32(2) {
		j := s.pending(820+i, "Priority")
		j.NodeCount, j.Start = 3, time.Time{}
	}
	v := s.view()
	story, err := v.Why("821", noon, nil)
	require.NoError(t, err)
	assert.Equal(t, "7 nodes of 4 jobs of this cluster", story.Ahead)
	assert.Regexp(t, `(?m)^a3 +820,821 .* pending .* 4–7 `, v.Table(Layout{Now: noon, Wide: true}))
	running, err := v.Why("813", noon, nil)
	require.NoError(t, err)
	assert.Empty(t, running.Ahead)
}
