package fakegce

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestAPolicyIsInsertedOnceAndIsAWorkloadPolicy(t *testing.T) {
	const at = "regions/us-central1/resourcePolicies"
	client := &http.Client{Transport: &schemaChecker{t: t, next: newWorld(t, Options{}).Transport()}}
	post(t, client, at, `{"name":"near","workloadPolicy":{"type":"HIGH_THROUGHPUT","maxTopologyDistance":"BLOCK"}}`)
	_, body := ask(t, client, http.MethodGet, at, "")
	assert.Contains(t, body, `"status":"READY"`)

	for name, c := range map[string]struct {
		body   string
		status int
		says   string
	}{
		"a name in use":        {`{"name":"near","workloadPolicy":{"type":"HIGH_THROUGHPUT"}}`, 409, "already exists"},
		"no kind":              {`{"name":"p"}`, 400, "workloadPolicy.type"},
		"no type of workload":  {`{"name":"p","workloadPolicy":{"maxTopologyDistance":"BLOCK"}}`, 400, "workloadPolicy.type"},
		"a type of workload":   {`{"name":"p","workloadPolicy":{"type":"FAST"}}`, 400, "FAST"},
		"a topology's measure": {`{"name":"p","workloadPolicy":{"type":"HIGH_THROUGHPUT","maxTopologyDistance":"MILE"}}`, 400, "MILE"},
	} {
		t.Run(name, func(t *testing.T) {
			status, body := ask(t, client, http.MethodPost, at, c.body)
			assert.Equal(t, c.status, status)
			assert.Contains(t, body, c.says)
		})
	}
}
