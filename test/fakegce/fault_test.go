package fakegce

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
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

func TestAnOperationThatIsToFailDoesNothing(t *testing.T) {
	w := newWorld(t, Options{})
	doom := func(method string) {
		require.NoError(t, w.AddFault(Fault{Method: method, Times: 1, OperationError: &Problem{Code: "PERMISSION_DENIED", Message: "no"}}))
	}
	doom("regionInstanceGroupManagers.insert")
	op := w.begun(w.insertGroup(flexGroup("m")))
	assert.Equal(t, "PERMISSION_DENIED", w.outcome(op))
	assert.EqualValues(t, 403, w.operation(op.Name()).GetHttpErrorStatusCode())
	assert.Empty(t, w.State().Groups)

	w.givenGroup("m")
	doom("regionInstanceGroupManagerResizeRequests.insert")
	op = w.begun(w.insertRequest("m", namedRequest("r", "n0")))
	assert.Equal(t, "PERMISSION_DENIED", w.outcome(op))
	assert.Equal(t, "FAILED", w.request("m", "r").GetState())

	doom("regionInstanceGroupManagers.delete")
	op = w.begun(w.deleteGroup("m"))
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
	w := granted(t, Options{}, "n0")
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
	w := granted(t, Options{}, "n0")
	require.NoError(t, w.AddFault(Fault{Method: "*.list", Unreachable: []string{"us-central1"}}))
	client := &http.Client{Transport: &schemaChecker{t: t, next: w.Transport()}}
	for _, path := range []string{
		"regions/us-central1/instanceGroupManagers", "regions/us-central1/instanceGroupManagers/m/resizeRequests",
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

const groupList = "regions/us-central1/instanceGroupManagers"

// pages reads a list, at most so many pages, and gives what each names and its
// token.
func (w *world) pages(most int) (names [][]string, tokens []string) {
	w.t.Helper()
	client := &http.Client{Transport: w.Transport()}
	path := groupList
	for range most {
		status, body := ask(w.t, client, http.MethodGet, path, "")
		require.Equal(w.t, http.StatusOK, status, body)
		var page struct {
			Items         []struct{ Name string }
			NextPageToken string
		}
		require.NoError(w.t, json.Unmarshal([]byte(body), &page))
		var all []string
		for _, item := range page.Items {
			all = append(all, item.Name)
		}
		names, tokens = append(names, all), append(tokens, page.NextPageToken)
		if page.NextPageToken == "" {
			break
		}
		path = groupList + "?pageToken=" + page.NextPageToken
	}
	return names, tokens
}

func TestAListMayGiveItsLastPageTwice(t *testing.T) {
	w := newWorld(t, Options{PageLimit: 2})
	for _, name := range []string{"a", "b", "c"} {
		w.givenGroup(name)
	}
	require.NoError(t, w.AddFault(Fault{Method: "regionInstanceGroupManagers.list", Doubled: true}))
	names, _ := w.pages(10)
	assert.Equal(t, [][]string{{"a", "b"}, {"c"}, {"c"}}, names)
}

func TestAListMayLeaveThingsOut(t *testing.T) {
	w := newWorld(t, Options{})
	for _, name := range []string{"a-1", "b", "a-2"} {
		w.givenGroup(name)
	}
	require.NoError(t, w.AddFault(Fault{Method: "regionInstanceGroupManagers.list", Omitted: "a-"}))
	names, _ := w.pages(10)
	assert.Equal(t, [][]string{{"b"}}, names)
}

func TestAListMayNeverEnd(t *testing.T) {
	for endless, different := range map[string]int{Alternating: 2, AlwaysNew: 6} {
		w := newWorld(t, Options{})
		w.givenGroup("a")
		require.NoError(t, w.AddFault(Fault{Method: "regionInstanceGroupManagers.list", Endless: endless}))
		names, tokens := w.pages(6)
		assert.Len(t, names, 6)
		seen := map[string]bool{}
		for _, token := range tokens {
			seen[token] = true
		}
		assert.Len(t, seen, different, endless)
		assert.NotContains(t, seen, "")
	}
}

func TestARecordMayBeBroken(t *testing.T) {
	w := newWorld(t, Options{})
	w.givenGroup("a1")
	w.givenGroup("b1")
	require.NoError(t, w.AddFault(Fault{Method: "*.list", Broken: &Broken{Name: "a", Field: "targetSize", Value: "many"}}))
	_, body := ask(t, &http.Client{Transport: w.Transport()}, http.MethodGet, groupList, "")
	var page struct {
		Items []map[string]any
	}
	require.NoError(t, json.Unmarshal([]byte(body), &page))
	require.Len(t, page.Items, 2)
	assert.Equal(t, "many", page.Items[0]["targetSize"])
	assert.InDelta(t, 0, page.Items[1]["targetSize"], 0)
}

func TestAGroupBeyondTheQuotaIsRefused(t *testing.T) {
	for _, metric := range []string{"INSTANCE_GROUPS", "REGIONAL_INSTANCE_GROUP_MANAGERS"} {
		w := newWorld(t, Options{})
		w.SetQuota(testRegion, metric, 1)
		w.givenGroup("a")
		_, err := w.insertGroup(flexGroup("b"))
		assertRefused(t, err, 403, "quotaExceeded", "Quota '"+metric+"' exceeded.  Limit: 1.0 in region us-central1.")
		_, body := ask(t, &http.Client{Transport: w.Transport()}, http.MethodGet, "regions/us-central1", "")
		assert.Contains(t, body, `{"limit":1,"metric":"`+metric+`","usage":1}`)
	}
}
