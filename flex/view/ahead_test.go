package view

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAheadCountsNodesAndJobs(t *testing.T) {
	for want, a := range map[string]Ahead{
		"12 nodes of 3 jobs wait ahead of it for a3-highgpu-8g in us-central1":       {Nodes: 12, Jobs: 3},
		"1 node of 1 job waits ahead of it for a3-highgpu-8g in us-central1":         {Nodes: 1, Jobs: 1},
		"2 nodes wait ahead of it for a3-highgpu-8g in us-central1":                  {Nodes: 2},
		"No nodes of this cluster wait ahead of it for a3-highgpu-8g in us-central1": {},
	} {
		a.Machine, a.Region = "a3-highgpu-8g", "us-central1"
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
	story, err := v.Why("821", noon)
	require.NoError(t, err)
	assert.Contains(t, story.Facts, "7 nodes of 4 jobs wait ahead of it for a3-highgpu-8g in us-central1.")
	assert.Regexp(t, `(?m)^a3 +820,821 .* pending .* 4–7 `, v.Table(Layout{Now: noon, Wide: true}))
	running, err := v.Why("813", noon)
	require.NoError(t, err)
	assert.NotContains(t, running.String(), "ahead of it")
}
