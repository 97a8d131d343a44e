package fakegce

import (
	"net/http"
	"testing"
	"time"

	"cloud.google.com/go/compute/apiv1/computepb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
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

func TestAPageTokenIsGoodForItsOwnListOnly(t *testing.T) {
	w := newWorld(t, Options{PageLimit: 1})
	client := &http.Client{Transport: w.Transport()}
	w.givenGroup("a")
	w.givenGroup("b")
	token := cursor{Path: "projects/demo/regions/us-central1/instanceGroupManagers/a", Query: "/another/list??"}.token()
	status, body := ask(t, client, http.MethodGet, "regions/us-central1/instanceGroupManagers?pageToken="+token, "")
	assert.Equal(t, http.StatusBadRequest, status)
	assert.Contains(t, body, "pageToken")
}

func TestRequestsAreFilteredByState(t *testing.T) {
	w := newWorld(t, Options{})
	w.givenGroup("m")
	w.givenRequest("m", "got", "n0")
	w.SetCapacity("", "", 0)
	w.givenRequest("m", "waits", "n1")
	for _, filter := range []string{"state=ACCEPTED", "state eq ACCEPTED", `state eq "(ACCEPTED|CREATING)"`} {
		var names []string
		for r, err := range w.requests.List(t.Context(), &computepb.ListRegionInstanceGroupManagerResizeRequestsRequest{
			Project: testProject, Region: testRegion, InstanceGroupManager: "m", Filter: proto.String(filter),
		}).All() {
			require.NoError(t, err)
			names = append(names, r.GetName())
		}
		assert.Equal(t, []string{"waits"}, names, filter)
	}
}

func TestFiltersPickWhatTheySay(t *testing.T) {
	w := newWorld(t, Options{BootTime: time.Minute})
	w.givenGroup("alpha", "us-central1-a")
	w.givenRequest("alpha", "r", "alpha-0", "alpha-1")
	w.Advance(time.Hour)
	w.givenGroup("beta", "us-central1-b")
	w.givenRequest("beta", "r", "beta-0")

	alpha, beta := map[string][]string{"zones/us-central1-a": {"alpha-0", "alpha-1"}}, map[string][]string{"zones/us-central1-b": {"beta-0"}}
	none := map[string][]string{}
	for filter, want := range map[string]map[string][]string{
		`name = "beta-0"`:                      beta,
		`name=beta-0`:                          beta,
		`status = RUNNING`:                     alpha,
		`scheduling.onHostMaintenance=MIGRATE`: none,
		`resourceStatus.scheduling.terminationTimestamp=2026`: none,
		`name eq "alpha-.*"`:    alpha,
		`name eq "alpha-[1-9]"`: {"zones/us-central1-a": {"alpha-1"}},
		`name eq alpha`:         none, // the whole field
		`status eq RUNNING`:     alpha,
	} {
		got, err := w.list(t.Context(), filter)
		if assert.NoError(t, err, filter) {
			assert.Equal(t, want, got, filter)
		}
	}
}

func TestAFilterThatIsNotUnderstoodIsRefused(t *testing.T) {
	w := newWorld(t, Options{})
	for _, filter := range []string{
		"name", "name =", "= x", "nme = x", "name == x", "name = x AND", "(name = x)", "name ~ x", "name != x", "name:x", "-name = x",
		"name = alpha-*", "disks = x", "metadata = x", "labels = x", "labels.owner = x", `name eq "["`, "status.x = 1",
		"name = x OR name = y", "name eq x AND status eq y", `name = "open`, "name eq", "nme eq x", "name ne x",
	} {
		_, err := w.list(t.Context(), filter)
		assertRefused(t, err, http.StatusBadRequest, "invalid", "Invalid list filter expression")
	}
}
