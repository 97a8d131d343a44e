package trial

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/test/must"
)

// transport answers a call.
type transport func(*http.Request) (*http.Response, error)

func (w transport) RoundTrip(r *http.Request) (*http.Response, error) { return w(r) }

var testHeader = header{Slurmflex: "v0.1.0", Begun: time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC), Region: "us-central1", Machine: "g2-standard-4"}

// recorded returns the transcript of one call, with the answer and the error that the caller got.
func recorded(t *testing.T, r *http.Request, next transport) (text string, resp *http.Response, err error) {
	t.Helper()
	var out bytes.Buffer
	recorder, err := newRecorder(&out, testHeader, "acme-hpc", next)
	require.NoError(t, err)
	resp, err = recorder.RoundTrip(r)
	require.NoError(t, recorder.failed())
	return out.String(), resp, err
}

func answering(status int, body string) transport {
	return func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader(body))}, nil
	}
}

func post(t *testing.T, address, body string) *http.Request {
	t.Helper()
	r := must.Get(http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader(body)))
	r.Header.Set("Authorization", "Bearer ya29.secret-token")
	return r
}

func TestTranscriptReadsBackAsRecorded(t *testing.T) {
	text, resp, err := recorded(t, post(t, "https://c/compute/v1/projects/acme-hpc/regions/r/x?requestId=7", `{"name":"n","size":"600"}`),
		answering(200, `{"kind":"compute#operation","id":1000000000000007919,"status":"DONE"}`))
	require.NoError(t, err)
	assert.Contains(t, string(must.Get(io.ReadAll(resp.Body))), "1000000000000007919", "the caller gets the answer")
	lines := json.NewDecoder(strings.NewReader(text))
	var h header
	require.NoError(t, lines.Decode(&h))
	want := testHeader
	want.Version = transcriptVersion
	assert.Equal(t, want, h)
	var e exchange
	require.NoError(t, lines.Decode(&e))
	require.False(t, lines.More())
	assert.Equal(t, []any{"POST", "/compute/v1/projects/PROJECT/regions/r/x", "requestId=7", 200}, []any{e.Verb, e.Path, e.Query, e.Status})
	assert.JSONEq(t, `{"name":"n","size":"600"}`, string(e.Body))
	assert.JSONEq(t, `{"kind":"compute#operation","id":1000000000000007919,"status":"DONE"}`, string(e.Answer))
}

// secrets are in the body below and must not be in a transcript.
var secrets = []string{
	"acme", "ya29", "123456789012", "10.128.0.7", "2600:1900:4000::7", "203.0.113.9", "ada@", "iam.gserviceaccount.com", "hunter2", "shh",
	"vault", "secret-team", "shared-vpc", "corp-net", "customer", "gold-image", "rack-door",
}

const private = `{
 "name": "alpha-trial--kxqzv-0", "status": "RUNNING", "user": "ada@acme.example", "description": "rack-door code",
 "selfLink": "https://www.googleapis.com/compute/v1/projects/acme-hpc/zones/us-central1-a/instances/alpha-trial--kxqzv-0",
 "instanceTemplate": "projects/acme-hpc/regions/us-central1/instanceTemplates/acme-hpc-small",
 "metadata": {"items": [
  {"key": "startup-script", "value": "curl vault/hunter2"},
  {"key": "created-by", "value": "projects/123456789012/regions/us-central1/instanceGroupManagers/alpha-trial--kxqzv-g"}]},
 "labels": {"team": "secret-team"}, "tags": {"items": ["corp-net"]},
 "networkInterfaces": [{"network": "projects/shared-vpc/global/networks/corp-net", "networkIP": "10.128.0.7", "accessConfigs": [{"natIP": "203.0.113.9"}], "stackType": "IPV4_ONLY"}],
 "serviceAccounts": [{"email": "nodes@acme-hpc.iam.gserviceaccount.com", "scopes": ["customer"]}],
 "disks": [{"boot": true, "source": "gold-image"}],
 "message": "Quota of consumer 'project_number:123456789012' (acme-hpc), seen from 10.128.0.7 and 2600:1900:4000::7 by ada@acme.example",
 "scheduling": {"provisioningModel": "FLEX_START", "terminationTimestamp": "2026-11-22T02:03:04.000-08:00"}}`

func TestTranscriptHidesSecrets(t *testing.T) {
	text, _, err := recorded(t, post(t, "https://c/compute/v1/projects/acme-hpc/x?filter=acme-hpc", private), answering(200, private))
	require.NoError(t, err)
	for _, secret := range secrets {
		assert.NotContains(t, text, secret)
	}
	for _, kept := range []string{
		`"status":"RUNNING"`, `"provisioningModel":"FLEX_START"`, `"stackType":"IPV4_ONLY"`, `"terminationTimestamp":"2026-11-22T02:03:04.000-08:00"`,
		`"value":"projects/PROJECT/regions/us-central1/instanceGroupManagers/alpha-trial--kxqzv-g"`, `"startup-script"`, `instanceTemplates/project-small"`,
		`"boot":true`,
	} {
		assert.Contains(t, text, kept)
	}
}

func TestNonJSONBodyIsNotRecorded(t *testing.T) {
	text, _, err := recorded(t, post(t, "https://c/", ""), answering(502, "<html>acme-hpc proxy</html>"))
	require.NoError(t, err)
	assert.Contains(t, text, `"status":502,"answer":"not JSON: `)
	assert.NotContains(t, text, "acme")
}

func TestUnansweredCallIsRecordedWithItsError(t *testing.T) {
	text, _, err := recorded(t, post(t, "https://c/", ""), func(*http.Request) (*http.Response, error) {
		return nil, errors.New("dial tcp 10.128.0.7:443: connection refused")
	})
	require.Error(t, err)
	assert.Contains(t, text, `"status":0,"error":"dial tcp ADDRESS:443: connection refused"`)
}

func TestIncompleteTranscriptIsReported(t *testing.T) {
	r, err := newRecorder(&full{room: 1}, testHeader, "acme-hpc", answering(200, "{}"))
	require.NoError(t, err)
	resp, err := r.RoundTrip(post(t, "https://c/", ""))
	require.NoError(t, err, "the call is made")
	assert.Equal(t, 200, resp.StatusCode)
	assert.EqualError(t, r.failed(), "write transcript: no space")
}

// full is a disk with room for some lines.
type full struct{ room int }

func (f *full) Write(b []byte) (int, error) {
	if f.room--; f.room < 0 {
		return 0, errors.New("no space")
	}
	return len(b), nil
}
