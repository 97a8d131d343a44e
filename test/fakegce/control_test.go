package fakegce

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// command sends one command to the control surface.
func (w *world) command(verb, path, body string) (int, string) {
	w.t.Helper()
	return w.ask(verb, "http://fake/fake/"+path, body)
}

func (w *world) commanded(verb, path, body string) {
	w.t.Helper()
	status, answer := w.command(verb, path, body)
	require.Equal(w.t, http.StatusOK, status, answer)
}

func TestControlSurfaceChangesTheWorldOverHTTP(t *testing.T) {
	w := newWorld(t, Options{})
	w.commanded("POST", "capacity", `{"zone":"us-central1-a","machineType":"a3-highgpu-8g","count":0}`)
	w.givenGroup("m", "us-central1-a")
	w.givenRequest("m", "r", "n0", "n1", "n2")
	w.givenRequest("m", "dies", "n3")
	w.commanded("POST", "fail", `{"group":"m","request":"dies","code":"LIMIT_EXCEEDED","message":"no"}`)
	assert.Equal(t, "FAILED", w.request("m", "dies").GetState())
	w.commanded("POST", "capacity", `{"count":-1}`)
	w.commanded("POST", "capacity", `{"zone":"us-central1-a","machineType":"a3-highgpu-8g","count":3}`)
	w.commanded("POST", "capacity", `{"zone":"us-central1-a","model":"SPOT","count":1}`)
	assert.Equal(t, 1, w.free(stock{"us-central1-a", testMachine, "SPOT"}))
	w.commanded("POST", "reservations", `{"name":"mine","zone":"us-central1-a","machineType":"a3-highgpu-8g","count":2}`)
	assert.Equal(t, 2, w.Server.reserved[held{"us-central1-a", "mine"}].count)
	w.commanded("POST", "advance", `{"duration":"30s"}`)
	w.commanded("POST", "vms/n0/delete", "")
	w.commanded("POST", "vms/n1/stop", "")

	status, body := w.command("GET", "state", "")
	require.Equal(t, http.StatusOK, status)
	var st State
	require.NoError(t, json.Unmarshal([]byte(body), &st))
	assert.Len(t, st.Instances, 2)
	v, _ := st.Instance("n1")
	assert.Equal(t, "TERMINATED", v.Status)
	g, _ := st.Group("m")
	assert.Equal(t, "SUCCEEDED", g.Requests[0].State)

	w.commanded("POST", "vms/n2/lease", `{"left":"90s"}`)
	assert.Equal(t, 90*time.Second, w.vm("n2").Terminates.Sub(w.State().Now))

	w.commanded("POST", "quota", `{"region":"us-central1","metric":"INSTANCES","limit":2}`)
	w.givenRequest("m", "s", "n4")
	assert.Equal(t, "QUOTA_EXCEEDED", w.request("m", "s").GetStatus().GetLastAttempt().GetError().GetErrors()[0].GetCode())

	w.commanded("POST", "faults", `{"method":"*","status":503,"times":1}`)
	w.commanded("POST", "faults", `{"method":"instances.*","delay":"1h","lag":"2s","times":1}`)
	assert.Equal(t, time.Hour, w.faults[1].Delay)
	assert.Equal(t, 2*time.Second, w.faults[1].Lag)
	_, err := w.deleteGroup("m")
	assertRefused(t, err, 503, "", "")
	w.commanded("DELETE", "faults", "")
	assert.Empty(t, w.faults)

	_, counts := w.command("GET", "counts", "")
	assert.Contains(t, counts, `"regionInstanceGroupManagers.delete":1`)
	w.commanded("DELETE", "calls", "")
	_, calls := w.command("GET", "calls", "")
	assert.Equal(t, "[]", calls)
}
