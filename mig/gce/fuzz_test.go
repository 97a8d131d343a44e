package gce

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"slurmflex/mig"
)

func FuzzAnAnswer(f *testing.F) {
	for _, body := range []string{
		done, running, `{"name":"operation-1","status":"PONDERING"}`, `{}`, ``, `{"error":{}}`, "<html>\n<title>502</title>", "null",
		doneWith(0, "QUOTA_EXCEEDED", "Quota 'GPUS' exceeded.\nLimit: 8"), doneWith(409, "RESOURCE_IN_USE_BY_ANOTHER_RESOURCE", strings.Repeat("long ", 1000)),
		`{"error":{"code":403,"message":"no","errors":[{"reason":"rateLimitExceeded"}],"details":[{"reason":1},"x",null]}}`,
		`{"name":"operation-1","status":"DONE","error":{"errors":[{"errorDetails":[{"quotaInfo":{"limit":1e999,"dimensions":{"a":"9999-"}}},{"errorInfo":null}]}]}}`,
	} {
		f.Add(200, "", []byte(body))
		f.Add(403, "1", []byte(body))
		f.Add(503, "Fri, 31 Dec 9999 23:59:59 GMT", []byte(body))
	}
	f.Fuzz(func(t *testing.T, status int, retryAfter string, body []byte) {
		if status < 200 || status > 599 {
			t.Skip("no HTTP server answers so")
		}
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
			defer cancel()
			c := clientOf(t, inMemory{http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", retryAfter)
				w.WriteHeader(status)
				_, _ = w.Write(body)
			})})
			err := c.CancelRequest(ctx, testRegion, "alpha-x", "a1")
			if err == nil {
				require.Less(t, status, 300)
				var op map[string]any
				require.NoError(t, json.Unmarshal(body, &op))
				require.NotEmpty(t, op["name"], "an answer that is not an operation is an error")
			} else {
				requireFailure(t, err)
			}
			template, err := c.Template(ctx, testGroup.Template)
			if err != nil {
				require.Zero(t, template)
				requireFailure(t, err)
			}
		})
	})
}

// requireFailure asserts the properties of an error that the rest of the program relies on: a known
// cause and a one-line text.
func requireFailure(t *testing.T, err error) {
	t.Helper()
	var failed *mig.Error
	require.ErrorAs(t, err, &failed)
	require.NotEqual(t, mig.CauseNone, failed.Cause)
	require.LessOrEqual(t, failed.Cause, mig.CauseUnknown)
	require.NotContains(t, err.Error(), "\n")
	require.Less(t, len(err.Error()), 2*messageLimit)
}
