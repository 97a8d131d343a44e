package fakegce

import (
	"testing"

	"cloud.google.com/go/compute/apiv1/computepb"
	"github.com/stretchr/testify/assert"
)

func TestPagesSkipNothingWhenListedItemsAreDeleted(t *testing.T) {
	w := granted(t, Options{PageLimit: 2}, "n0", "n1", "n2", "n3", "n4")
	it := w.instances.AggregatedList(t.Context(), &computepb.AggregatedListInstancesRequest{Project: testProject})
	seen := make(map[string]bool)
	for scope, err := it.Next(); err == nil; scope, err = it.Next() {
		for _, v := range scope.Value.GetInstances() {
			seen[v.GetName()] = true
		}
		if seen["n1"] && !seen["n2"] {
			_ = w.DeleteVM("n0") // missing on the second call
		}
	}
	assert.Equal(t, map[string]bool{"n0": true, "n1": true, "n2": true, "n3": true, "n4": true}, seen)
}
