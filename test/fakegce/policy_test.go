package fakegce

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestAPolicyIsInsertedOnceAndOfOneKind(t *testing.T) {
	const at = "regions/us-central1/resourcePolicies"
	w := newWorld(t, Options{})
	w.post(at, `{"name":"compact","groupPlacementPolicy":{"collocation":"COLLOCATED","vmCount":2}}`)
	_, body := w.ask(http.MethodGet, at+"/compact", "")
	assert.Contains(t, body, `"status":"READY"`)

	for name, c := range map[string]struct {
		body   string
		status int
		says   string
	}{
		"a name in use":        {`{"name":"compact","groupPlacementPolicy":{"collocation":"COLLOCATED"}}`, 409, "already exists"},
		"no kind":              {`{"name":"p"}`, 400, "groupPlacementPolicy"},
		"two kinds":            {`{"name":"p","groupPlacementPolicy":{},"workloadPolicy":{"type":"HIGH_THROUGHPUT"}}`, 400, "one kind"},
		"a collocation":        {`{"name":"p","groupPlacementPolicy":{"collocation":"NEAR"}}`, 400, "NEAR"},
		"no type of workload":  {`{"name":"p","workloadPolicy":{"maxTopologyDistance":"BLOCK"}}`, 400, "workloadPolicy.type"},
		"a type of workload":   {`{"name":"p","workloadPolicy":{"type":"FAST"}}`, 400, "FAST"},
		"a topology's measure": {`{"name":"p","workloadPolicy":{"type":"HIGH_THROUGHPUT","maxTopologyDistance":"MILE"}}`, 400, "MILE"},
	} {
		t.Run(name, func(t *testing.T) {
			status, body := w.ask(http.MethodPost, at, c.body)
			assert.Equal(t, c.status, status)
			assert.Contains(t, body, c.says)
		})
	}
}
