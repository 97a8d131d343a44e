package gce

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/mig"
)

const (
	testProject = "p"
	testRegion  = "us-central1"
)

var testStamp = mig.Stamp{Version: mig.StampVersion, Cluster: "alpha", NodeSet: "a3", Job: 812}

var testGroup = mig.GroupSpec{
	Name: "alpha-a3-job-812", Region: testRegion,
	Template: "projects/p/regions/us-central1/instanceTemplates/T",
	Zones:    []string{"us-central1-a", "us-central1-b"},
	Stamp:    testStamp,
}

// inMemory calls a handler without a network, for tests with fake time.
type inMemory struct{ http.Handler }

func (m inMemory) RoundTrip(req *http.Request) (*http.Response, error) {
	in := req.Clone(req.Context())
	if in.Body == nil {
		in.Body = http.NoBody
	}
	rec := httptest.NewRecorder()
	m.ServeHTTP(rec, in)
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	resp := rec.Result()
	resp.Request = req
	return resp, nil
}

// roundTripper adapts a function to a transport.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// clientOf returns a client that sends its calls to the transport.
func clientOf(t *testing.T, transport http.RoundTripper, change ...func(*Options)) *Client {
	t.Helper()
	o := Options{Project: testProject, Endpoint: "http://compute.test", Transport: transport}
	for _, c := range change {
		c(&o)
	}
	c, err := New(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

// deleteGroup deletes group g.
func deleteGroup(t *testing.T, c *Client) error {
	return c.DeleteGroup(t.Context(), testRegion, "g")
}

// failsWith asserts an error's cause and text.
func failsWith(t *testing.T, err error, cause mig.Cause, text string) {
	t.Helper()
	require.EqualError(t, err, text)
	assert.Equal(t, cause, mig.CauseOf(err))
}

// groupsIn reads the groups of the tests' region.
func groupsIn(t *testing.T, c *Client) ([]mig.Group, error) {
	groups, unseen := c.Groups(t.Context(), "alpha", []string{testRegion})
	return groups, unseen[testRegion]
}

// inBubble runs a subtest with fake time.
func inBubble(t *testing.T, name string, run func(*testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { synctest.Test(t, run) })
}

// script answers the n-th call with the n-th answer, and all further calls with the last answer; it
// records the calls.
type script struct {
	mu      sync.Mutex
	answers []http.HandlerFunc
	calls   []call
}

type call struct{ method, path, query, body string }

func (s *script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	n := min(len(s.calls), len(s.answers)-1)
	s.calls = append(s.calls, call{r.Method, r.URL.Path, r.URL.RawQuery, string(body)})
	answer := s.answers[n]
	s.mu.Unlock()
	answer(w, r)
}

func answers(a ...http.HandlerFunc) *script { return &script{answers: a} }

func answer(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json; charset=UTF-8")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func ok(body string) http.HandlerFunc { return answer(http.StatusOK, body) }

// aList returns an answer of the kind that every list has, with these additional fields.
func aList(fields string) http.HandlerFunc {
	return ok(strings.Replace(`{"kind":"compute#list",`+fields[1:], ",}", "}", 1))
}

// items returns an answer with these items.
func items(all ...string) http.HandlerFunc {
	return aList(`{"items":[` + strings.Join(all, ",") + `]}`)
}

// refusal returns an error answer in Google's format.
func refusal(status int, reason, message string) http.HandlerFunc {
	return answer(status, fmt.Sprintf(
		`{"error":{"code":%d,"message":%q,"errors":[{"message":%q,"domain":"global","reason":%q}]}}`,
		status, message, message, reason))
}

const (
	running = `{"kind":"compute#operation","name":"operation-1","status":"RUNNING","progress":0}`
	done    = `{"kind":"compute#operation","name":"operation-1","status":"DONE","progress":100}`
)

func doneWith(status int, code, message string) string {
	http := ""
	if status != 0 {
		http = fmt.Sprintf(`"httpErrorStatusCode":%d,"httpErrorMessage":"X",`, status)
	}
	return fmt.Sprintf(`{"name":"operation-1","status":"DONE",%s"error":{"errors":[{"code":%q,"message":%q}]}}`, http, code, message)
}
