package fakegce

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"cloud.google.com/go/compute/apiv1/computepb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPagesLoseNothingWhenWhatTheyShowedIsGone(t *testing.T) {
	w := granted(t, Options{PageLimit: 2}, "n0", "n1", "n2", "n3", "n4")
	it := w.instances.AggregatedList(t.Context(), &computepb.AggregatedListInstancesRequest{Project: testProject})
	seen := make(map[string]bool)
	for scope, err := it.Next(); err == nil; scope, err = it.Next() {
		for _, v := range scope.Value.GetInstances() {
			seen[v.GetName()] = true
		}
		if seen["n1"] && !seen["n2"] {
			_ = w.DeleteVM("n0") // is gone the second time
		}
	}
	assert.Equal(t, map[string]bool{"n0": true, "n1": true, "n2": true, "n3": true, "n4": true}, seen)
}

// requestNames are the names of group m's requests, as a list with these
// parameters gives them.
func (w *world) requestNames(filter, order string, page uint32) (names []string) {
	w.t.Helper()
	for one, err := range w.requests.List(w.t.Context(), &computepb.ListRegionInstanceGroupManagerResizeRequestsRequest{
		Project: testProject, Region: testRegion, InstanceGroupManager: "m", Filter: &filter, OrderBy: &order, MaxResults: &page,
	}).All() {
		require.NoError(w.t, err)
		names = append(names, one.GetName())
	}
	return names
}

func TestAListIsOrderedByNameOrTheYoungestFirst(t *testing.T) {
	w := newWorld(t, Options{})
	w.SetCapacity("", "", 0)
	w.givenGroup("m")
	for i, name := range []string{"b", "c", "a"} {
		w.givenRequest("m", name, fmt.Sprintf("n%d", i))
		w.Advance(time.Second)
	}
	assert.Equal(t, []string{"a", "b", "c"}, w.requestNames("", "", 2))
	assert.Equal(t, []string{"a", "c", "b"}, w.requestNames("", "creationTimestamp desc", 2))
	assert.Equal(t, []string{"a", "c", "b"}, w.requestNames("", "creationTimestamp desc", 1))
}

func TestAPageTokenIsGoodForItsOwnListOnly(t *testing.T) {
	w := newWorld(t, Options{PageLimit: 1})
	w.givenGroup("a")
	w.givenGroup("b")
	token := cursor{Path: "projects/demo/regions/us-central1/instanceGroupManagers/a", Query: "/another/list??"}.token()
	status, body := w.ask(http.MethodGet, "regions/us-central1/instanceGroupManagers?pageToken="+token, "")
	assert.Equal(t, http.StatusBadRequest, status)
	assert.Contains(t, body, "pageToken")
}

func TestFiltersPickWhatTheySay(t *testing.T) {
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
		`-name:alpha`:                                      beta,
		`NOT name:alpha`:                                   beta,
		`status = RUNNING`:                                 alpha,
		`status = RUNNING AND name = beta-0`:               none,
		`(status = RUNNING) (name:alpha)`:                  alpha,
		`(status = RUNNING) OR (name = beta-0)`:            both,
		`name:alpha OR name:beta AND status=RUNNING`:       alpha, // OR binds tighter
		`creationTimestamp < "2026-11-01T08:30:00Z"`:       alpha,
		`creationTimestamp >= 2026`:                        both,
		`scheduling.automaticRestart = false`:              both,
		`scheduling.maxRunDuration.seconds > 3000`:         both,
		`resourceStatus.scheduling.terminationTimestamp:*`: alpha,
		`labels.owner:*`:                                   none,
		`name:alpha-*`:                                     alpha,
		`name = alpha-*`:                                   alpha,
		`name = "*-0"`:                                     {zoneA: {"alpha-0"}, zoneB: {"beta-0"}},
		`name != *-0`:                                      {zoneA: {"alpha-1"}},
		`disks.boot = true`:                                none,
		`networkInterfaces.name = nic0`:                    both,
		`networkInterfaces.name eq nic.`:                   both,
		`zone:us-central1-b`:                               beta,
		`id != 5`:                                          both,
		`name eq alpha-.*`:                                 alpha,
		`name eq "alpha-[1-9]"`:                            {zoneA: {"alpha-1"}},
		`name eq alpha`:                                    none, // the whole field
		`name ne 'alpha-.*'`:                               beta,
		`status eq RUNNING`:                                alpha,
		`(name ne alpha-0) (name eq .*-0)`:                 beta,
		`zone eq .*/us-central1-a`:                         alpha,
	} {
		got, err := w.list(t.Context(), filter)
		if assert.NoError(t, err, filter) {
			assert.Equal(t, want, got, filter)
		}
	}
}

func TestAFilterComparesWholeNumbersAsNumbers(t *testing.T) {
	w := granted(t, Options{}, "n0", "n1")
	id := func(name string) uint64 {
		v, err := w.instance("us-central1-a", name)
		require.NoError(t, err)
		return v.GetId()
	}
	first, last := id("n0"), id("n1")
	require.Less(t, first, last)
	for filter, want := range map[string][]string{
		"id > 2":                                     {"n0", "n1"},
		"id < 2":                                     nil,
		"id > 2000000000000000000":                   nil,
		"id < 99999999999999999999":                  {"n0", "n1"}, // more than 64 bits have
		fmt.Sprintf("id > %d", first):                {"n1"},
		fmt.Sprintf("id >= %d", last):                {"n1"},
		fmt.Sprintf("id = %d", first):                {"n0"},
		fmt.Sprintf("id:%d", first):                  {"n0"},
		fmt.Sprintf("id != %d", first):               {"n1"},
		fmt.Sprintf("id eq %d", first):               {"n0"},
		fmt.Sprintf("id > %d.5", first):              {"n1"},
		"id = 1*":                                    {"n0", "n1"},
		"id > many":                                  nil,
		"scheduling.maxRunDuration.seconds > 3599.5": {"n0", "n1"},
		"scheduling.maxRunDuration.seconds < 36e2":   nil,
	} {
		found, err := w.list(t.Context(), filter)
		if assert.NoError(t, err, filter) {
			assert.Equal(t, want, found["zones/us-central1-a"], filter)
		}
	}
}

func TestAFilterThatIsNotUnderstoodIsRefused(t *testing.T) {
	w := newWorld(t, Options{})
	for _, filter := range []string{
		"name", "name =", "= x", "nme = x", "name == x", "name = x AND", "(name = x", "name = x)", "name ~ x", "OR", "NOT",
		"name > alpha-*", "disks = x", "metadata = x", "labels = x", "name eq [", "name eq x AND status eq y", "status.x = 1",
		"(name eq x) (status eq y)", "(name eq x) (status = y)", `name = "open`, "name eq", "nme eq x", "(name eq x) extra",
	} {
		_, err := w.list(t.Context(), filter)
		assertRefused(t, err, http.StatusBadRequest, "invalid", "Invalid list filter expression")
	}
}
