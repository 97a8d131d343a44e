package estimate

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"slurmflex/flex/view"
)

func TestEstimateReportsAChange(t *testing.T) {
	half, ninety := int64(1200), int64(2160)
	report := Report{Estimates: []Answer{{
		NodeSet: "a3", Nodes: 2, History: true, Half: &half, Ninety: &ninety, Change: &Change{Days: 7, Slower: 4},
	}}}
	assert.Equal(t, "nodeset a3, 2 nodes: median wait 20m, 90th percentile 36m; the last week was 4 times slower than before\n", report.Short())
	assert.Equal(t, "The median wait of 39 requests like this one is another 20m, the 90th percentile 36m; the last week was 4 times slower than before",
		view.Estimate{Half: Seconds(&half), Ninety: Seconds(&ninety), Requests: 39, Change: (*view.Change)(report.Estimates[0].Change)}.String())
}
