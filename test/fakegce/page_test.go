package fakegce

import (
	"testing"
	"time"

	"cloud.google.com/go/compute/apiv1/computepb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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

func TestFiltersSelectMatchingItems(t *testing.T) {
	w := newWorld(t, Options{BootTime: time.Minute})
	w.givenGroup("alpha", "us-central1-a")
	w.givenRequest("alpha", "r", "alpha-0", "alpha-1")
	w.Advance(time.Hour)
	w.givenGroup("beta", "us-central1-b")
	w.givenRequest("beta", "r", "beta-0")
	found, err := w.list(t.Context(), "")
	require.NoError(t, err)
	require.Len(t, found, 2)

	const zoneA, zoneB = "zones/us-central1-a", "zones/us-central1-b"
	alpha, beta := map[string][]string{zoneA: {"alpha-0", "alpha-1"}}, map[string][]string{zoneB: {"beta-0"}}
	both := map[string][]string{zoneA: alpha[zoneA], zoneB: beta[zoneB]}
	none := map[string][]string{}
	for filter, want := range map[string]map[string][]string{
		`name = "beta-0"`:                                  beta,
		`name=beta-0`:                                      beta,
		`name != beta-0`:                                   alpha,
		`name:alpha`:                                       alpha,
		`status = RUNNING`:                                 alpha,
		`status = RUNNING AND name = beta-0`:               none,
		`(status = RUNNING) (name:alpha)`:                  alpha,
		`creationTimestamp < "2026-11-01T08:30:00Z"`:       alpha,
		`creationTimestamp <= "2026-11-01T01:00:00-07:00"`: alpha, // the same instant in another time zone
		`creationTimestamp >= 2026`:                        both,
		`scheduling.provisioningModel = FLEX_START`:        both,
		`resourceStatus.scheduling.terminationTimestamp:*`: alpha,
		`labels.owner:*`:                                   none,
		`labels.owner != me`:                               both,
		`name:alpha-*`:                                     alpha,
		`name = alpha-*`:                                   alpha,
		`name = "*-0"`:                                     {zoneA: {"alpha-0"}, zoneB: {"beta-0"}},
		`name != *-0`:                                      {zoneA: {"alpha-1"}},
		`name eq alpha-.*`:                                 alpha,
		`name eq "alpha-[1-9]"`:                            {zoneA: {"alpha-1"}},
		`name eq alpha`:                                    none, // must match the whole field
		`name ne 'alpha-.*'`:                               beta,
		`(zone eq .*/us-central1-a) AND (status = RUNNING) AND (creationTimestamp > "2026-01-01T00:00:00Z")`: alpha,
	} {
		got, err := w.list(t.Context(), filter)
		if assert.NoError(t, err, filter) {
			assert.Equal(t, want, got, filter)
		}
	}
}
