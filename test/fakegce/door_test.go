package fakegce

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// send serves one request unchanged. It does not check the body against the schema.
func (w *world) send(verb, path, body string, header ...string) (int, string) {
	w.t.Helper()
	r := httptest.NewRequestWithContext(w.t.Context(), verb, path, strings.NewReader(body))
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	answer := httptest.NewRecorder()
	w.ServeHTTP(answer, r)
	b, err := io.ReadAll(answer.Result().Body)
	require.NoError(w.t, err)
	return answer.Code, string(b)
}

func TestBodyAcceptsBothSpellingsOfAName(t *testing.T) {
	for body, message := range map[string]string{
		`{"name":"r","resizeBy":2,"requestedRunDuration":{"seconds":600}}`:                                        "",
		`{"name":"r","resize_by":2,"requested_run_duration":{"seconds":600}}`:                                     "",
		`{"name":"r","resize_by":2,"run_duration":{"seconds":600}}`:                                               `Unknown name \"run_duration\"`,
		`{"name":"r","resizeBy":2,"requestedRunDuration":{"seconds":600},"requested_run_duration":{"seconds":1}}`: "both of its spellings",
	} {
		w := newWorld(t, Options{})
		w.givenGroup("m")
		status, answer := w.send("POST", "/compute/v1/projects/demo/"+pathM+"/resizeRequests", body)
		if message != "" {
			assert.Equal(t, http.StatusBadRequest, status, body)
			assert.Contains(t, answer, message)
			continue
		}
		require.Equal(t, http.StatusOK, status, answer)
		g, _ := w.State().Group("m")
		assert.Equal(t, 10*time.Minute, g.Requests[0].Duration, body)
		assert.Len(t, g.Requests[0].Instances, 2, body)
	}
}

func TestAnswersAreCompressedIfBothHeadersNameGzip(t *testing.T) {
	w := newWorld(t, Options{})
	const path = "/compute/v1/projects/demo/aggregated/instances"
	_, plain := w.send("GET", path, "")
	for _, c := range []struct {
		accepts, agent string
		packed         bool
	}{
		{"gzip", "slurmflex/v1.2.0 (gzip)", true},
		{"gzip, deflate", "google-api-python-client (gzip)", true},
		{"gzip", "curl/8.5.0", false},
		{"", "slurmflex/v1.2.0 (gzip)", false},
	} {
		_, body := w.send("GET", path, "", "Accept-Encoding", c.accepts, "User-Agent", c.agent)
		if !c.packed {
			assert.Equal(t, plain, body)
			continue
		}
		unpacked, err := gzip.NewReader(strings.NewReader(body))
		require.NoError(t, err)
		text, err := io.ReadAll(unpacked)
		require.NoError(t, err)
		assert.Equal(t, plain, string(text))
	}
}
