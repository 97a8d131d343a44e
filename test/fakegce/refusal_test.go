package fakegce

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// test/foreign has the other refusals.
func TestUnknownMethodsAndFieldsAreRefused(t *testing.T) {
	w := newWorld(t, Switches{})
	for _, c := range []struct {
		name, verb, path, body string
		status                 int
		says                   string
	}{
		{"a method", "POST", groupList + "/m/explode", "", 501, "does not implement POST /compute/v1/projects/demo/" + groupList + "/m/explode"},
		{"a request's id", "DELETE", requests + "/1000000000000015838", "", 501, "by their ids"},
		{"a version", "GET", "/compute/v2/projects/demo/regions", "", 404, "was not found"},
		{"a parameter", "GET", groupList + "?returnPartialSuccess=true", "", 400, "returnPartialSuccess"},
		{"a field deep in a body", "POST", groupList, `{"distributionPolicy":{"zones":[{"zne":"a"}]}}`, 400, `Unknown name \"zne\" at 'resource.distributionPolicy.zones[0]'`},
		{"a body that is not JSON", "POST", groupList, `{"name":`, 400, "Invalid JSON"},
		{"the zero UUID", "DELETE", groupList + "/m?requestId=00000000-0000-0000-0000-000000000000", "", 400, "requestId"},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, body := w.ask(c.verb, c.path, c.body)
			assert.Equal(t, c.status, status)
			assert.Contains(t, body, c.says)
			assert.True(t, strings.HasPrefix(body, `{"error":{"code":`), body)
		})
	}
}

func TestRouteOutsideAPIDocumentNamesTheUpdate(t *testing.T) {
	assert.PanicsWithValue(t, "fakegce: api.json lacks instances.explode: UPDATE=1 go test ./test/fakegce -run TestAPIDocumentIsThatOfThePinnedModule writes it",
		func() { routes(map[string]handler{"instances.explode": nil}) })
}

func TestBodyAcceptsBothSpellingsOfAName(t *testing.T) {
	for duration, message := range map[string]string{
		`"requestedRunDuration":{"seconds":600}`:                                        "",
		`"requested_run_duration":{"seconds":600}`:                                      "",
		`"run_duration":{"seconds":600}`:                                                `Unknown name \"run_duration\"`,
		`"requestedRunDuration":{"seconds":600},"requested_run_duration":{"seconds":1}`: "both of its spellings",
	} {
		w := newWorld(t, Switches{})
		status, answer := w.ask("POST", requests, `{"name":"r","instances":[{"name":"n0"}],`+duration+`}`)
		assert.Equal(t, message == "", status == http.StatusOK, answer)
		assert.Contains(t, answer, message)
	}
}
