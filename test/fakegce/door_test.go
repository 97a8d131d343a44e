package fakegce

import (
	"compress/gzip"
	"fmt"
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

func TestFieldsSelectsPartsOfAnAnswer(t *testing.T) {
	w := granted(t, Options{}, "n0", "n1")
	const machines, group = "/compute/v1/projects/demo/aggregated/instances", "/compute/v1/projects/demo/" + pathM
	for _, c := range []struct{ path, fields, want string }{
		{group, "name", `{"name":"m"}`},
		{group, "name,targetSize", `{"name":"m","targetSize":2}`},
		{group, "status(isStable)", `{"status":{"isStable":true}}`},
		{group, "status/isStable,status/versionTarget/isReached", `{"status":{"isStable":true,"versionTarget":{"isReached":true}}}`},
		{group, "distributionPolicy/*", `{"distributionPolicy":{"targetShape":"ANY_SINGLE_ZONE","zones":[{"zone":"https://www.googleapis.com/compute/v1/projects/demo/zones/us-central1-a"}]}}`},
		{group, "standbyPolicy", `{}`},
		{machines + "?filter=status=RUNNING", "items/*/instances(name,status)", `"zones/us-central1-a":{"instances":[{"name":"n0","status":"RUNNING"},{"name":"n1","status":"RUNNING"}]}`},
		{machines, "items.zones.instances(name,labels.owner)", `"zones/us-central1-a":{"instances":[{"name":"n0"},{"name":"n1"}]}`},
		{machines, "items(zones/us-central1-a)", ""},
		{machines, "kind,nextPageToken", `{"kind":"compute#instanceAggregatedList"}`},
		{machines, "*", `"nextPageToken"`},
	} {
		t.Run(c.fields, func(t *testing.T) {
			mark := "?"
			if strings.Contains(c.path, "?") {
				mark = "&"
			}
			status, body := w.send("GET", c.path+mark+"fields="+c.fields, "")
			switch {
			case c.want == "":
				assert.Equal(t, http.StatusBadRequest, status)
				assert.Contains(t, body, `"reason":"invalidParameter"`)
			case strings.HasPrefix(c.want, "{"):
				assert.JSONEq(t, c.want, body)
			case c.fields == "*":
				_, all := w.send("GET", c.path, "")
				assert.Equal(t, all, body)
			default:
				assert.Contains(t, body, c.want)
			}
		})
	}
}

func TestFieldsRefusesNamesMissingFromTheSchema(t *testing.T) {
	w := newWorld(t, Options{})
	for _, fields := range []string{"nme", "items/nme", "items(name", "items)", "items(,)", "a,,b", "items//name", "kind/of", "%20", strings.Repeat("a(", 60)} {
		status, body := w.send("GET", "/compute/v1/projects/demo/"+groupList+"?fields="+fields, "")
		assert.Equal(t, http.StatusBadRequest, status, fields)
		assert.Contains(t, body, "Invalid field selection", fields)
	}
	status, _ := w.send("POST", "/compute/v1/projects/demo/"+groupList+"?fields=nme", `{"name":"m","targetSize":0,"versions":[{"instanceTemplate":"regions/us-central1/instanceTemplates/a3"}]}`)
	assert.Equal(t, http.StatusBadRequest, status)
	assert.Empty(t, w.State().Groups, "and nothing is done")
}

func TestMalformedBatchIsRefused(t *testing.T) {
	w := newWorld(t, Options{})
	for _, c := range []struct{ kind, body string }{
		{"application/json", "--cut--"},
		{"multipart/mixed", "--cut--"},
		{"multipart/mixed; boundary=cut", ""},
		{"multipart/mixed; boundary=cut", "--cut\r\n\r\nno request\r\n--cut--\r\n"},
	} {
		status, body := w.send("POST", "/batch/compute/v1", c.body, "Content-Type", c.kind)
		assert.Equal(t, http.StatusBadRequest, status)
		assert.Contains(t, body, "Failed to parse batch request")
	}
}

func TestBatchHoldsAtMostAThousandCalls(t *testing.T) {
	w := newWorld(t, Options{})
	part := "--cut\r\nContent-Type: application/http\r\n\r\nGET /compute/v1/projects/demo/regions/us-central1 HTTP/1.1\r\n\r\n\r\n"
	status, body := w.send("POST", "/batch/compute/v1", strings.Repeat(part, maxBatch+1)+"--cut--\r\n", "Content-Type", "multipart/mixed; boundary=cut")
	assert.Equal(t, http.StatusBadRequest, status)
	assert.Contains(t, body, "1000 parts")
}

func TestLinkMayUseAnyAPIAddressAndTheProjectNumber(t *testing.T) {
	for i, link := range []string{
		"regions/us-central1/instanceTemplates/a3",
		"projects/demo/regions/us-central1/instanceTemplates/a3",
		"projects/123456789012/regions/us-central1/instanceTemplates/a3",
		"https://www.googleapis.com/compute/v1/projects/demo/regions/us-central1/instanceTemplates/a3",
		"https://www.googleapis.com/compute/beta/projects/123456789012/regions/us-central1/instanceTemplates/a3",
		"https://compute.googleapis.com/compute/beta/projects/demo/regions/us-central1/instanceTemplates/a3",
		"//compute.googleapis.com/projects/demo/regions/us-central1/instanceTemplates/a3",
	} {
		w := newWorld(t, Options{})
		w.post(groupList, fmt.Sprintf(`{"name":"g%d","targetSize":0,"versions":[{"instanceTemplate":%q}]}`, i, link))
	}
}

func TestAnyTokenIsAcceptedUnlessOptionsNameOne(t *testing.T) {
	w := newWorld(t, Options{Token: AnyToken})
	status, _ := w.send("GET", "/compute/v1/projects/demo/regions/us-central1", "")
	assert.Equal(t, http.StatusUnauthorized, status)
	status, _ = w.send("GET", "/compute/v1/projects/demo/regions/us-central1", "", "Authorization", "Bearer other")
	assert.Equal(t, http.StatusOK, status)
	status, _ = w.send("GET", "/fake/state", "")
	assert.Equal(t, http.StatusOK, status, "what belongs to the fake alone needs none")
}

func TestBodyNumbersMayHaveSeveralForms(t *testing.T) {
	w := newWorld(t, Options{OperationTime: time.Second})
	w.givenGroup("m")
	for i, duration := range []string{`"3600"`, `3600`, `3600.0`, `36e2`} {
		body := fmt.Sprintf(`{"name":"r%d","resizeBy":"1","description":null,"requestedRunDuration":{"seconds":%s}}`, i, duration)
		status, answer := w.send("POST", "/compute/v1/projects/demo/"+pathM+"/resizeRequests", body)
		require.Equal(t, http.StatusOK, status, answer)
	}
	g, _ := w.State().Group("m")
	for _, r := range g.Requests {
		assert.Equal(t, time.Hour, r.Duration)
		assert.Len(t, r.Instances, 1)
	}
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

func TestRefusalHidesGoTerms(t *testing.T) {
	w := newWorld(t, Options{})
	w.givenGroup("m")
	for _, body := range []string{
		`{"name":`, `{"name":"x"} more`, `{"name":"x",}`, `nul`, "\xff", `[]`, `"x"`, `7`,
		`{"name":7}`, `{"name":"x","targetSize":"many"}`, `{"targetSize":1.5}`, `{"targetSize":3000000000}`, `{"targetSize":"NaN"}`,
		`{"versions":{}}`, `{"versions":[null]}`, `{"versions":["x"]}`, `{"updatePolicy":"x"}`, `{"updatePolicy":{"type":"SOON"}}`,
		`{"fingerprint":"not base64!"}`, `{"autoHealingPolicies":[{"initialDelaySec":"soon"}]}`, `{"allInstancesConfig":{"properties":{"labels":{"a":1}}}}`,
		`{"id":"18446744073709551616"}`, `{"instanceFlexibilityPolicy":{"instanceSelections":{"a":{"rank":"first"}}}}`,
	} {
		status, answer := w.send("POST", "/compute/v1/projects/demo/"+groupList, body)
		assert.Equal(t, http.StatusBadRequest, status, body)
		assert.NotRegexp(t, `(?i)json:|unmarshal|strconv|\bgo\b|struct|invalid character|unexpected end|compute\.|EOF|float64`, answer, body)
		assert.Regexp(t, `Invalid (JSON payload|value)`, answer, body)
	}
	status, answer := w.send("GET", "/compute/v1/projects/demo/zones/us-central1-a/instances?filter=%zz", "")
	assert.Equal(t, http.StatusBadRequest, status)
	assert.Contains(t, answer, `"Invalid query string."`)
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
