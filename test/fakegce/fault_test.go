package fakegce

import (
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLaggingListShowsEarlierStates(t *testing.T) {
	w := newWorld(t, Switches{})
	w.SetCapacity("", "", 0)
	w.Advance(time.Minute)
	require.NoError(t, w.AddFault(Fault{Method: "*ist", Lag: time.Minute}))
	w.request("m", "r", "n0")
	shows := func(path, want string) {
		t.Helper()
		_, body := w.ask(http.MethodGet, path, "")
		assert.Contains(t, body, want)
	}
	shows(groupList, `"targetSize":0`)
	w.Advance(2 * time.Second)
	w.SetCapacity("", "", -1)
	w.Advance(time.Minute + 10*time.Second)
	assert.Equal(t, "1; r SUCCEEDED; n0 CREATING STAGING;", w.shows())
	shows(groupList, `"targetSize":1`)
	shows(requests, `"lastAttempt"`)
	shows(requests+"?filter=state=ACCEPTED", `"name":"r"`)
	w.Advance(time.Minute)
	require.NoError(t, w.StopVM("n0"))
	shows(requests, `"state":"SUCCEEDED"`)
	shows("zones/us-central1-a/instances", `"status":"STAGING"`)
	w.ClearFaults()
	shows("zones/us-central1-a/instances", `"status":"TERMINATED"`)
}

func TestDeadZoneFailsItsLists(t *testing.T) {
	w := newWorld(t, Switches{})
	w.SetZoneDead("us-central1-b", true)
	for path, want := range map[string]int{
		"zones/us-central1-b/instances": 503, "zones/us-central1-a/instances": 200, "zones/us-central1-b": 200, groupList: 200,
		"aggregated/operations": 503,
	} {
		status, _ := w.ask(http.MethodGet, path, "")
		assert.Equal(t, want, status, path)
	}
}

func TestAnswersAreCompressedIfBothHeadersNameGzip(t *testing.T) {
	w := newWorld(t, Switches{})
	_, plain := w.ask("GET", groupList, "")
	for _, c := range []struct {
		accepts, agent string
		packed         bool
	}{
		{"gzip", "slurmflex/v1.2.0 (gzip)", true},
		{"gzip", "curl/8.5.0", false},
		{"", "slurmflex/v1.2.0 (gzip)", false},
	} {
		_, body := w.ask("GET", groupList, "", "Accept-Encoding", c.accepts, "User-Agent", c.agent)
		if c.packed {
			unpacked, err := gzip.NewReader(strings.NewReader(body))
			require.NoError(t, err)
			text, err := io.ReadAll(unpacked)
			require.NoError(t, err)
			body = string(text)
		}
		assert.Equal(t, plain, body)
	}
}
