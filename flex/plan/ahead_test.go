package plan

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestAheadCountsNodesAndJobs(t *testing.T) {
	for want, a := range map[string]Ahead{
		"1 node of 1 job of this cluster": {Nodes: 1, Jobs: 1},
		"2 nodes of this cluster":         {Nodes: 2},
	} {
		assert.Equal(t, want, a.String())
	}
}
