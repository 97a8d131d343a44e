package fakegce

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slurmflex/test/must"
)

// world is a fake with a manual clock. test/foreign calls the fake with Google's own client, and
// compares answers with the discovery document.
type world struct {
	*Server
	t *testing.T
}

const (
	groupList = "regions/us-central1/instanceGroupManagers"
	requests  = groupList + "/m/resizeRequests"
)

// newWorld returns a world with a flex-start template a3 and a group m. Each step takes a different
// time, so that a test can distinguish them.
func newWorld(t *testing.T, s Switches) *world {
	t.Helper()
	w := &world{New(Options{
		Clock:         NewManualClock(time.Date(2026, 11, 1, 8, 0, 0, 0, time.UTC)),
		OperationTime: 2 * time.Second, BootTime: 20 * time.Second, DeleteTime: 10 * time.Second, AttemptInterval: time.Minute, Switches: s,
	}), t}
	must.Get(w.AddTemplate("us-central1", FlexTemplate("a3", "a3-highgpu-8g")))
	w.group("m")
	return w
}

// ask sends one request to a path of the project.
func (w *world) ask(verb, path, body string, header ...string) (int, string) {
	w.t.Helper()
	if !strings.HasPrefix(path, "/") {
		path = "/compute/v1/projects/demo/" + path
	}
	r := must.Get(http.NewRequestWithContext(w.t.Context(), verb, "http://fake"+path, strings.NewReader(body)))
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := w.Transport().RoundTrip(r)
	require.NoError(w.t, err)
	return resp.StatusCode, string(must.Get(io.ReadAll(resp.Body)))
}

// start requires that a call starts an operation.
func (w *world) start(verb, path, body string) {
	w.t.Helper()
	status, answer := w.ask(verb, path, body)
	require.Equal(w.t, http.StatusOK, status, answer)
}

// group creates a group that suits flex-start.
func (w *world) group(name string) {
	w.t.Helper()
	w.start("POST", groupList, `{"name":"`+name+`","targetSize":0,"versions":[{"instanceTemplate":"regions/us-central1/instanceTemplates/a3"}],
		"distributionPolicy":{"targetShape":"ANY_SINGLE_ZONE","zones":[{"zone":"zones/us-central1-a"}]},
		"updatePolicy":{"instanceRedistributionType":"NONE"},"instanceLifecyclePolicy":{"defaultActionOnFailure":"DO_NOTHING"}}`)
	w.Advance(2 * time.Second)
}

// request requests an instance for an hour.
func (w *world) request(group, name, instance string) {
	w.t.Helper()
	w.start("POST", groupList+"/"+group+"/resizeRequests",
		fmt.Sprintf(`{"name":%q,"instances":[{"name":%q}],"requestedRunDuration":{"seconds":"3600"}}`, name, instance))
}

// shows summarizes group m: its target size, its requests' states, and each member's current action
// and instance status.
func (w *world) shows() string {
	g, _ := w.State().Group("m")
	text := fmt.Sprint(g.TargetSize, ";")
	for _, r := range g.Requests {
		text += " " + r.Name + " " + r.State + ";"
	}
	for _, m := range g.Members {
		text += strings.TrimSuffix(" "+m.Name+" "+m.Action+" "+m.Status, " ") + ";"
	}
	return text
}
