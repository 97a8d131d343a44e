package fakegce

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	compute "cloud.google.com/go/compute/apiv1"
	"cloud.google.com/go/compute/apiv1/computepb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/api/googleapi"
)

func TestFaultStrikesItsMethodsUpToItsCount(t *testing.T) {
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

func TestDropPreventsTheEffectAndDropAfterDoesNot(t *testing.T) {
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

func TestDropOverTCPCutsTheConnection(t *testing.T) {
	w := newWorld(t, Options{})
	web := httptest.NewServer(w)
	defer web.Close()
	require.NoError(t, w.AddFault(Fault{Method: "regions.get", Drop: true}))
	resp, err := http.Get(web.URL + "/compute/v1/projects/demo/regions/us-central1")
	if err == nil {
		resp.Body.Close()
	}
	require.ErrorIs(t, err, io.EOF)
}

func TestFailingOperationHasNoEffect(t *testing.T) {
	w := newWorld(t, Options{})
	denied := func(method string, call func() (*compute.Operation, error)) {
		t.Helper()
		f := Fault{Method: method, Times: 1, OperationError: &Problem{Code: "PERMISSION_DENIED", Message: "no"}}
		require.NoError(t, w.AddFault(f))
		op := w.begun(call())
		assert.Equal(t, "PERMISSION_DENIED", w.outcome(op))
	}
	denied("regionInstanceGroupManagers.insert", func() (*compute.Operation, error) { return w.insertGroup(flexGroup("m")) })
	assert.Empty(t, w.State().Groups)
	assert.EqualValues(t, 403, w.operation(w.State().Operations[0].Name).GetHttpErrorStatusCode())
	w.givenGroup("m")
	denied("*ResizeRequests.insert", func() (*compute.Operation, error) { return w.insertRequest("m", namedRequest("r", "n0")) })
	denied("regionInstanceGroupManagers.delete", func() (*compute.Operation, error) { return w.deleteGroup("m") })
	w.givenRequest("m", "works", "n1")
	assert.Equal(t, "1; r FAILED; works SUCCEEDED; n1 NONE RUNNING;", w.shows(), "the group is as it was")
}

func TestLaggingListShowsEarlierItems(t *testing.T) {
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

func TestLaggingListShowsEarlierStates(t *testing.T) {
	w := newWorld(t, slow())
	w.SetCapacity("", "", 0)
	w.givenGroup("m", "us-central1-a")
	w.Advance(time.Minute)
	require.NoError(t, w.AddFault(Fault{Method: "*ist", Lag: time.Minute}))
	w.givenRequest("m", "r", "n0")
	w.SetCapacity("", "", -1)
	shows := func(path, want string) {
		t.Helper()
		_, body := w.ask(http.MethodGet, path, "")
		assert.Contains(t, body, want)
	}
	shows(groupList, `"targetSize":0`)

	w.Advance(61 * time.Second) // the second attempt found room a second ago
	require.Equal(t, "PROVISIONING", w.members("m")["n0"].GetInstanceStatus())
	shows(groupList, `"targetSize":1`)
	shows(groupList+"/m/resizeRequests", `"lastAttempt"`)
	w.Advance(10 * time.Second)
	g, _ := w.State().Group("m")
	require.Equal(t, "SUCCEEDED", g.Requests[0].State)
	shows(groupList+"/m/resizeRequests", `"state":"ACCEPTED"`)
	shows(groupList+"/m/resizeRequests?filter=state=ACCEPTED", `"name":"r"`)

	w.Advance(time.Minute)
	require.NoError(t, w.StopVM("n0"))
	shows(groupList+"/m/resizeRequests", `"state":"SUCCEEDED"`)
	shows("aggregated/instances", `"status":"STAGING"`)
	w.ClearFaults()
	shows("aggregated/instances", `"status":"TERMINATED"`)
}

func TestListWarnsAboutAnUnreachablePlace(t *testing.T) {
	w := granted(t, Options{}, "n0")
	require.NoError(t, w.AddFault(Fault{Method: "*ist", Unreachable: []string{"us-central1"}}))
	const here = `"unreachables":["https://www.googleapis.com/compute/v1/projects/demo/`
	for path, unreachables := range map[string]string{
		groupList: "", pathM + "/resizeRequests": here + `regions/us-central1"]`, "zones/us-central1-a/instances": "",
		"aggregated/instances?returnPartialSuccess=true": here + `zones/us-central1-a"`,
	} {
		_, body := w.ask(http.MethodGet, path, "")
		assert.Contains(t, body, `"code":"UNREACHABLE"`, path)
		assert.NotContains(t, body, `n0`, path)
		assert.Contains(t, body, unreachables, path)
		assert.Equal(t, unreachables != "", strings.Contains(body, "unreachables"), path)
	}
	_, body := w.ask(http.MethodGet, "regions/europe-west4/instanceGroupManagers", "")
	assert.NotContains(t, body, "warning")
	_, body = w.ask(http.MethodGet, "aggregated/instances?returnPartialSuccess=true", "")
	assert.Regexp(t, `"zones/europe-west4-a":\{"warning":\{"code":"NO_RESULTS_ON_PAGE"`, body)
}

func TestDeadZoneFailsItsListsAndAggregatedLists(t *testing.T) {
	const all, partial = "aggregated/instances", "aggregated/instances?returnPartialSuccess=true"
	w := granted(t, Options{}, "n0")
	w.SetZoneDead("us-central1-b", true)
	for path, want := range map[string]int{
		all: 503, partial: 200, "zones/us-central1-b/instances": 503, "zones/us-central1-a/instances": 200,
		"zones/us-central1-b": 200, groupList: 200,
	} {
		status, body := w.ask(http.MethodGet, path, "")
		assert.Equal(t, want, status, path)
		if path == partial {
			assert.Contains(t, body, `zones/us-central1-b"]`)
			assert.NotContains(t, body, wholeList)
		}
	}
	w.SetZoneDead("us-central1-b", false)
	status, _ := w.ask(http.MethodGet, all, "")
	assert.Equal(t, http.StatusOK, status)
}

func TestDelayedCallActsAfterTheDelayUnlessItsContextEnds(t *testing.T) {
	w := newWorld(t, Options{})
	require.NoError(t, w.AddFault(Fault{Method: "*", Delay: time.Minute}))
	answered := make(chan error)
	insert := func(ctx context.Context) {
		_, err := w.groups.Insert(ctx, &computepb.InsertRegionInstanceGroupManagerRequest{
			Project: testProject, Region: testRegion, InstanceGroupManagerResource: flexGroup("m"),
		})
		answered <- err
	}
	go insert(t.Context())
	require.Eventually(t, func() bool { return w.pending() == 1 }, time.Minute, time.Millisecond)
	assert.Empty(t, w.State().Groups)
	w.Advance(time.Minute)
	require.NoError(t, <-answered)
	assert.Len(t, w.State().Groups, 1)

	ctx, cancel := context.WithCancel(t.Context())
	others := w.pending() // the group's operation is pending, too
	go insert(ctx)
	require.Eventually(t, func() bool { return w.pending() == others+1 }, time.Minute, time.Millisecond)
	cancel()
	assert.ErrorIs(t, <-answered, context.Canceled)
}

// pending returns the number of scheduled events.
func (w *world) pending() (n int) {
	w.do(func() { n = len(w.agenda.events) })
	return n
}

const groupList = "regions/us-central1/instanceGroupManagers"

// listing is a page of the list of groups.
type listing struct {
	Items         []map[string]any
	NextPageToken string
}

func (w *world) listing(token string) (p listing) {
	w.t.Helper()
	status, body := w.ask(http.MethodGet, groupList+"?pageToken="+token, "")
	require.Equal(w.t, http.StatusOK, status, body)
	require.NoError(w.t, json.Unmarshal([]byte(body), &p))
	return p
}

// broken returns a world with these groups and a fault in their lists.
func broken(t *testing.T, f Fault, groups ...string) *world {
	t.Helper()
	w := newWorld(t, Options{PageLimit: 2})
	for _, name := range groups {
		w.givenGroup(name)
	}
	f.Method = "regionInstanceGroupManagers.list"
	require.NoError(t, w.AddFault(f))
	return w
}

func TestListMayRepeatItsLastPageOrOmitRecords(t *testing.T) {
	for want, f := range map[string]Fault{"a b c c ": {Doubled: true}, "b c ": {Omitted: "a"}} {
		w := broken(t, f, "a", "b", "c")
		names, token := "", ""
		for more := true; more; more = token != "" {
			p := w.listing(token)
			for _, item := range p.Items {
				names += fmt.Sprint(item["name"], " ")
			}
			token = p.NextPageToken
		}
		assert.Equal(t, want, names)
	}
}

func TestListMayNeverEnd(t *testing.T) {
	for endless, different := range map[string]int{Alternating: 2, AlwaysNew: 6} {
		w := broken(t, Fault{Endless: endless}, "a")
		token, seen := "", map[string]bool{}
		for range 6 {
			token = w.listing(token).NextPageToken
			seen[token] = true
		}
		assert.Len(t, seen, different, endless)
		assert.NotContains(t, seen, "")
	}
}

func TestRecordMayBeBroken(t *testing.T) {
	items := broken(t, Fault{Broken: &Broken{Name: "a", Field: "targetSize", Value: "many"}}, "a1", "b1").listing("").Items
	require.Len(t, items, 2)
	assert.Equal(t, "many", items[0]["targetSize"])
	assert.InDelta(t, 0, items[1]["targetSize"], 0)
}

func TestOperationBeyondQuotaIsRefusedUntilAnotherEnds(t *testing.T) {
	w := newWorld(t, Options{OperationTime: time.Second})
	require.NoError(t, w.SetQuota(testRegion, ConcurrentOperations, 2))
	w.begun(w.insertGroup(flexGroup("a")))
	w.begun(w.insertGroup(flexGroup("b")))
	_, err := w.insertGroup(flexGroup("c"))
	assertRefused(t, err, 403, "rateLimitExceeded", "Rate Limit Exceeded")
	var plain *googleapi.Error
	require.ErrorAs(t, err, &plain)
	assert.Contains(t, plain.Body, concurrency)
	_, err = w.list(t.Context(), "")
	require.NoError(t, err, "a call without an operation is answered")
	w.post("regions/europe-west4/resourcePolicies", `{"name":"p","workloadPolicy":{"type":"HIGH_THROUGHPUT"}}`)
	w.Advance(time.Second)
	w.begun(w.insertGroup(flexGroup("c")))
}
