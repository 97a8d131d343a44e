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

func TestInvalidCommandExplainsItsError(t *testing.T) {
	w := newWorld(t, Options{})
	for _, c := range []struct{ verb, path, body, says string }{
		{"GET", "nothing", "", `unknown command \"GET nothing\"`},
		{"POST", "capacity", `{"zone":"a"}`, "no \\\"count\\\""},
		{"POST", "capacity", `{"zne":"a","count":1}`, `unknown field \"zne\"`},
		{"POST", "capacity", `{"count":1} {}`, "more after"},
		{"POST", "capacity", ``, "read the request's body: it is empty"},
		{"POST", "capacity", `{"zone":`, "read the request's body: it is not JSON"},
		{"POST", "capacity", `count=1`, "read the request's body: it is not JSON"},
		{"POST", "capacity", `[]`, "read the request's body: it must be an object"},
		{"POST", "capacity", `{"zone":1,"count":1}`, `\"zone\" must be a text`},
		{"POST", "capacity", `{"count":"1"}`, `\"count\" must be a whole number`},
		{"POST", "capacity", `{"count":1.5}`, `\"count\" must be a whole number`},
		{"POST", "quota", `{"region":"us-central1","metric":"INSTANCES","limit":"2"}`, `\"limit\" must be a number`},
		{"POST", "quota", `{"region":"us-central1","metric":"CPUS","limit":2}`, `unknown metric \"CPUS\"; known: ACTIVE_RESIZE_REQUESTS, CONCURRENT_OPERATIONS,`},
		{"POST", "faults", `{"method":"*","drop":"yes"}`, `\"drop\" must be true or false`},
		{"POST", "faults", `{"method":"*","unreachable":"us-central1"}`, `\"unreachable\" must be a list`},
		{"POST", "faults", `{"method":"*","broken":"name"}`, `\"broken\" must be an object`},
		{"POST", "faults", `{"method":"*","broken":{"name":1}}`, `\"broken.name\" must be a text`},
		{"POST", "faults", `{"method":"*","lag":"11m"}`, "lag at most 10 minutes"},
		{"POST", "faults", `{"method":"*","times":-1}`, "must not be negative"},
		{"POST", "faults", `{"method":"*","status":200}`, "status 200 is not an error"},
		{"POST", "faults", `{"method":"*","endless":"often"}`, `endless is \"often\"`},
		{"POST", "faults", `{"method":"[","status":500}`, `add fault on [: the method is not a pattern`},
		{"POST", "capacity", `{"model":"SPOTT","count":1}`, "set capacity of SPOTT: unknown provisioning model"},
		{"POST", "reservations", `{"name":"r","zone":"us-central1-a","machineType":"a3-highgpu-8g"}`, "no \\\"count\\\""},
		{"POST", "reservations", `{"zone":"us-central1-a","machineType":"a3-highgpu-8g","count":1}`, "it must have a name"},
		{"POST", "reservations", `{"name":"r","zone":"us-central1-z","machineType":"a3-highgpu-8g","count":1}`, "unknown zone"},
		{"POST", "reservations", `{"name":"r","zone":"us-central1-a","machineType":"z9","count":1}`, "unknown machine type"},
		{"POST", "zones", `{"zone":"us-central1-z","up":false}`, `set zone: unknown zone \"us-central1-z\"`},
		{"POST", "zones", `{"zone":"us-central1-a"}`, `no \"up\"`},
		{"POST", "withdraw", `{"zone":"us-central1-z","machineType":"a3-highgpu-8g"}`, "unknown zone"},
		{"POST", "withdraw", `{"zone":"us-central1-a","machineType":"z9"}`, `withdraw: unknown machine type \"z9\"`},
		{"POST", "quota", `{"region":"us-central1"}`, "must be given"},
		{"POST", "faults", `{"status":500}`, "no method"},
		{"POST", "faults", `{"method":"*","delay":"long"}`, "not a duration"},
		{"POST", "fail", `{"group":"m","request":"r"}`, "no \\\"code\\\""},
		{"POST", "fail", `{"group":"m","request":"r","code":"X"}`, "m/r"},
		{"POST", "advance", `{"duration":"-1s"}`, "positive"},
		{"POST", "vms/n0/delete", "", "delete instance n0: not found"},
		{"POST", "vms/n0/lease", `{"left":"90s"}`, "end lease of instance n0: not found"},
		{"POST", "vms/n0/lease", `{"left":"0s"}`, "positive"},
		{"POST", "vms/n0/lease", `{"left":"soon"}`, "not a duration"},
		{"POST", "vms/n0/explode", "", "unknown command"},
	} {
		status, body := w.command(c.verb, c.path, c.body)
		assert.Equal(t, http.StatusBadRequest, status, c.path)
		assert.Contains(t, body, c.says)
	}
}
