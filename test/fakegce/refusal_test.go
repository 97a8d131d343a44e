package fakegce

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestUnknownMethodsAndFieldsAreRefused(t *testing.T) {
	w := newWorld(t, Options{})
	w.givenGroup("m")
	const flex = `"versions":[{"instanceTemplate":"projects/demo/regions/us-central1/instanceTemplates/a3"}]`
	for _, c := range []struct {
		name, verb, path, body string
		status                 int
		says                   string
	}{
		{"a method", "POST", groupList + "/m/explode", "", 501, "does not implement POST /compute/v1/projects/demo/" + groupList + "/m/explode"},
		{"a zonal group", "GET", "zones/us-central1-a/instanceGroupManagers/m", "", 501, "does not implement"},
		{"a verb", "PUT", groupList + "/m", "", 501, "does not implement PUT"},
		{"a group's id", "GET", groupList + "/1000000000000015838", "", 501, "by their ids"},
		{"a request's id", "DELETE", groupList + "/m/resizeRequests/1000000000000015838", "", 501, "by their ids"},
		{"a numbered group", "POST", groupList, `{"name":"x","baseInstanceName":"x-##","targetSize":0,` + flex + `}`, 501, "does not number"},
		{"pages of managed instances", "POST", groupList, `{"name":"x","listManagedInstancesResults":"PAGINATED","targetSize":0,` + flex + `}`, 501, "without pages"},
		{"a pattern of names", "POST", "zones/us-central1-a/instances/bulkInsert", `{"count":"1","namePattern":"n-#","sourceInstanceTemplate":"regions/us-central1/instanceTemplates/a3"}`, 501, "perInstanceProperties only"},
		{"a version", "GET", "http://fake/compute/v2/projects/demo/regions", "", 404, "was not found"},
		{"a parameter", "GET", groupList + "?returnPartialSuccess=true", "", 400, "returnPartialSuccess"},
		{"a parameter given twice", "GET", groupList + "?filter=a&filter=b", "", 400, "2 times"},
		{"a body's field", "POST", groupList, `{"name":"x","targetSize":0,"shape":"pass",` + flex + `}`, 400, `Unknown name \"shape\"`},
		{"a field deep in a body", "POST", groupList, `{"name":"x","targetSize":0,"distributionPolicy":{"zones":[{"zne":"a"}]},` + flex + `}`, 400, `Unknown name \"zne\" at 'resource.distributionPolicy.zones[0]'`},
		{"a field in another case", "POST", groupList + "/m/resizeRequests", `{"name":"r","RequestedRunDuration":{"seconds":"600"},"resizeBy":1}`, 400, "RequestedRunDuration"},
		{"a value of the wrong type", "POST", groupList, `{"name":7}`, 400, "Invalid value"},
		{"a body that is not JSON", "POST", groupList, `{"name":`, 400, "Invalid JSON"},
		{"a body that is a list", "POST", groupList, `[]`, 400, "Root element must be a message"},
		{"a requestId that is not a UUID", "DELETE", groupList + "/m?requestId=7", "", 400, "requestId"},
		{"the zero UUID", "DELETE", groupList + "/m?requestId=00000000-0000-0000-0000-000000000000", "", 400, "requestId"},
		{"an operation", "POST", "regions/us-central1/operations/none/wait", "", 404, "none"},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, body := w.ask(c.verb, c.path, c.body)
			assert.Equal(t, c.status, status)
			assert.Contains(t, body, c.says)
			assert.True(t, strings.HasPrefix(body, `{"error":{"code":`), body)
		})
	}
}

func TestRouteOutsideAPIDocumentSaysHowToUpdate(t *testing.T) {
	w := newWorld(t, Options{})
	w.routes = append(w.routes, route{
		method: "instances.explode", verb: http.MethodPost, pattern: []string{"explode"},
		handle: func(s *Server, c *call) (any, error) { return nil, s.decode(c, new(struct{})) },
	})
	status, body := w.ask(http.MethodPost, "explode", "{}")
	assert.Equal(t, http.StatusNotImplemented, status)
	assert.Contains(t, body, "UPDATE=1 go test ./test/fakegce -run TestAPIDocumentIsThatOfThePinnedModule")
}
