package fakegce

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/compute/apiv1/computepb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAFaultStrikesTheCallsItNamesAsOftenAsItSays(t *testing.T) {
	w := newWorld(t, Options{})
	w.givenGroup("one")
	w.givenGroup("two")
	require.NoError(t, w.AddFault(Fault{Method: "regionInstanceGroupManager*.insert", Object: "/one/", Skip: 1, Times: 2, Status: 500}))
	var failed []bool
	for _, r := range []string{"r0", "r1", "r2", "r3"} {
		_, err := w.insertRequest("one", namedRequest(r, "n-"+r))
		failed = append(failed, err != nil)
		w.givenRequest("two", r, "two-"+r)
	}
	assert.Equal(t, []bool{false, true, true, false}, failed)

	require.NoError(t, w.AddFault(Fault{Method: "*", Status: 503, Message: "down"}))
	_, err := w.list(t.Context(), "")
	assertRefused(t, err, 503, "backendError", "down")
	w.ClearFaults()
	_, err = w.list(t.Context(), "")
	assert.NoError(t, err)
}

func TestADroppedCallDoesNothingAndOneDroppedAfterwardsDoes(t *testing.T) {
	w := newWorld(t, Options{})
	require.NoError(t, w.AddFault(Fault{Method: "regionInstanceGroupManagers.insert", Times: 1, Drop: true}))
	_, err := w.insertGroup(flexGroup("m"))
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	assert.Empty(t, w.State().Groups)

	require.NoError(t, w.AddFault(Fault{Method: "regionInstanceGroupManagers.insert", Times: 1, DropAfter: true}))
	_, err = w.insertGroup(flexGroup("m"))
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	assert.Len(t, w.State().Groups, 1)
	assert.Zero(t, w.Calls()[1].Status, "nothing was answered")
}

func TestADropOverTCPCutsTheConnection(t *testing.T) {
	w := newWorld(t, Options{})
	web := httptest.NewServer(w)
	defer web.Close()
	require.NoError(t, w.AddFault(Fault{Method: "regions.list", Drop: true}))
	resp, err := http.Get(web.URL + "/compute/v1/projects/demo/regions")
	if err == nil {
		resp.Body.Close()
	}
	require.ErrorIs(t, err, io.EOF)
}

func TestAnOperationThatIsToFailDoesNothing(t *testing.T) {
	w := newWorld(t, Options{})
	doom := func(method string) {
		require.NoError(t, w.AddFault(Fault{Method: method, Times: 1, OperationError: &Problem{Code: "PERMISSION_DENIED", Message: "no"}}))
	}
	doom("regionInstanceGroupManagers.insert")
	op, err := w.insertGroup(flexGroup("m"))
	require.NoError(t, err)
	assert.Equal(t, "PERMISSION_DENIED", w.outcome(op))
	assert.EqualValues(t, 403, w.operation(op.Name()).GetHttpErrorStatusCode())
	assert.Empty(t, w.State().Groups)

	w.givenGroup("m")
	doom("regionInstanceGroupManagerResizeRequests.insert")
	op, err = w.insertRequest("m", namedRequest("r", "n0"))
	require.NoError(t, err)
	assert.Equal(t, "PERMISSION_DENIED", w.outcome(op))
	assert.Equal(t, "FAILED", w.request("m", "r").GetState())

	doom("regionInstanceGroupManagers.delete")
	op, err = w.deleteGroup("m")
	require.NoError(t, err)
	assert.Equal(t, "PERMISSION_DENIED", w.outcome(op))
	w.givenRequest("m", "works", "n1")
	assert.Equal(t, "SUCCEEDED", w.request("m", "works").GetState(), "the group is as it was")
}

func TestALaggingListShowsWhatWasThereBefore(t *testing.T) {
	w := newWorld(t, Options{})
	w.givenGroup("m", "us-central1-a")
	w.givenRequest("m", "old", "n0")
	w.Advance(time.Minute)
	w.givenRequest("m", "new", "n1")
	require.NoError(t, w.DeleteVM("n0"))
	w.Advance(10 * time.Second)

	require.NoError(t, w.AddFault(Fault{Method: "instances.aggregatedList", Times: 1, Lag: 30 * time.Second}))
	found, err := w.list(t.Context(), "")
	require.NoError(t, err)
	assert.Equal(t, map[string][]string{"zones/us-central1-a": {"n0"}}, found)
	found, err = w.list(t.Context(), "")
	require.NoError(t, err)
	assert.Equal(t, map[string][]string{"zones/us-central1-a": {"n1"}}, found)
}

func TestALaggingListShowsThingsAsTheyWereBefore(t *testing.T) {
	w := newWorld(t, slow())
	w.SetCapacity("", "", 0)
	w.givenGroup("m", "us-central1-a")
	w.Advance(time.Minute)
	require.NoError(t, w.AddFault(Fault{Method: "*ist", Lag: time.Minute}))
	w.givenRequest("m", "r", "n0")
	w.SetCapacity("", "", -1)
	client := &http.Client{Transport: &schemaChecker{t: t, next: w.Transport()}}
	const groups = "regions/us-central1/instanceGroupManagers"
	shows := func(path, want string) {
		t.Helper()
		_, body := ask(t, client, http.MethodGet, path, "")
		assert.Contains(t, body, want)
	}
	shows(groups, `"targetSize":0`)

	w.Advance(61 * time.Second) // the second attempt found room a second ago
	require.Equal(t, "PROVISIONING", w.members("m")["n0"].GetInstanceStatus())
	shows(groups, `"targetSize":1`)
	shows(groups+"/m/resizeRequests", `"lastAttempt"`)
	w.Advance(10 * time.Second)
	require.Equal(t, "SUCCEEDED", w.request("m", "r").GetState())
	shows(groups+"/m/resizeRequests", `"state":"ACCEPTED"`)
	shows(groups+"/m/resizeRequests?filter=state=ACCEPTED", `"name":"r"`)

	w.Advance(time.Minute)
	require.NoError(t, w.StopVM("n0"))
	shows(groups+"/m/resizeRequests", `"state":"SUCCEEDED"`)
	shows("aggregated/instances", `"status":"STAGING"`)
	w.ClearFaults()
	shows("aggregated/instances", `"status":"TERMINATED"`)
}

func TestAnUnreachableRegionIsSaidToBeSo(t *testing.T) {
	w := newWorld(t, Options{})
	w.givenGroup("m", "us-central1-a")
	w.givenRequest("m", "r", "n0")
	require.NoError(t, w.AddFault(Fault{Method: "instances.aggregatedList", Unreachable: []string{"us-central1"}}))
	warnings := make(map[string]string)
	for scope, err := range w.instances.AggregatedList(t.Context(), &computepb.AggregatedListInstancesRequest{Project: testProject}).All() {
		require.NoError(t, err)
		assert.Empty(t, scope.Value.GetInstances())
		warnings[scope.Key] = scope.Value.GetWarning().GetCode()
	}
	assert.Equal(t, "UNREACHABLE", warnings["zones/us-central1-a"])
	assert.Equal(t, "NO_RESULTS_ON_PAGE", warnings["zones/europe-west4-a"])
	_, body := ask(t, &http.Client{Transport: w.Transport()}, http.MethodGet, "aggregated/instances", "")
	assert.Contains(t, body, `"unreachables":["https://www.googleapis.com/compute/v1/projects/demo/zones/us-central1-a"`)
}

func TestAListOfAnUnreachablePlaceSaysSoInsteadOfBeingEmpty(t *testing.T) {
	w := newWorld(t, Options{})
	w.givenGroup("m", "us-central1-a")
	w.givenRequest("m", "r", "n0")
	require.NoError(t, w.AddFault(Fault{Method: "*.list", Unreachable: []string{"us-central1"}}))
	client := &http.Client{Transport: &schemaChecker{t: t, next: w.Transport()}}
	for _, path := range []string{
		"regions/us-central1/instanceGroupManagers", "regions/us-central1/instanceGroupManagers/m/resizeRequests", "zones/us-central1-a/instances",
	} {
		_, body := ask(t, client, http.MethodGet, path, "")
		assert.Contains(t, body, `"code":"UNREACHABLE"`, path)
		assert.NotContains(t, body, `"items"`, path)
		assert.Equal(t, strings.HasSuffix(path, "resizeRequests"), strings.Contains(body, `"unreachables":["https://www.googleapis.com/compute/v1/projects/demo/regions/us-central1"]`))
	}
	_, body := ask(t, client, http.MethodGet, "regions/europe-west4/instanceGroupManagers", "")
	assert.NotContains(t, body, "warning")
}

func TestADelayedCallActsWhenTheDelayIsOver(t *testing.T) {
	w := newWorld(t, Options{})
	require.NoError(t, w.AddFault(Fault{Method: "*", Delay: time.Minute}))
	answered := make(chan error)
	go func() {
		_, err := w.insertGroup(flexGroup("m"))
		answered <- err
	}()
	require.Eventually(t, func() bool { return w.Counts()["regionInstanceGroupManagers.insert"] == 1 && w.pending() > 0 }, time.Minute, time.Millisecond)
	assert.Empty(t, w.State().Groups)
	w.Advance(time.Minute)
	require.NoError(t, <-answered)
	assert.Len(t, w.State().Groups, 1)
}

func TestADelayedCallEndsWithItsContext(t *testing.T) {
	w := newWorld(t, Options{})
	require.NoError(t, w.AddFault(Fault{Method: "*", Delay: time.Hour}))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	answered := make(chan error)
	go func() {
		_, err := w.instances.Get(ctx, &computepb.GetInstanceRequest{Project: testProject, Zone: "us-central1-a", Instance: "n0"})
		answered <- err
	}()
	require.Eventually(t, func() bool { return w.pending() > 0 }, time.Minute, time.Millisecond)
	cancel()
	assert.ErrorIs(t, <-answered, context.Canceled)
}

func TestAFaultThatMakesNoSenseIsRefused(t *testing.T) {
	s := New(Options{})
	for _, f := range []Fault{
		{}, {Method: "["}, {Method: "*", Times: -1}, {Method: "*", Status: 200}, {Method: "*", Lag: time.Hour},
	} {
		assert.Error(t, s.AddFault(f), "%+v", f)
	}
}

// pending is how many events are to come.
func (w *world) pending() (n int) {
	w.do(func() { n = len(w.agenda.events) })
	return n
}
