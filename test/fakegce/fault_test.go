package fakegce

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

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

const groupList = "regions/us-central1/instanceGroupManagers"
