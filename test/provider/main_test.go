package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/test/fakegce"
)

// conforms runs the suite against the fake with a number of machines. wrap is around its handler.
func conforms(t *testing.T, machines int, wrap func(http.Handler) http.Handler) (out string, err error) {
	t.Helper()
	cloud := fakegce.New(fakegce.Options{Zones: []string{"gke-us-central1-a"}, Token: "secret"})
	_, err = cloud.AddTemplate("gke-us-central1", fakegce.FlexTemplate("a3", "a3-highgpu-8g"))
	require.NoError(t, err)
	cloud.SetCapacity("", "", machines)
	server := httptest.NewServer(wrap(cloud))
	defer server.Close()
	token := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(token, []byte("secret\n"), 0o600))
	var text strings.Builder
	err = run(t.Context(), []string{"--endpoint", server.URL, "--token-file", token, "--wait", "1s"}, &text)
	assert.Empty(t, cloud.State().Groups, "the suite leaves nothing")
	return text.String(), err
}

func asIs(h http.Handler) http.Handler { return h }

func TestFakeConformsWithAndWithoutMachines(t *testing.T) {
	out, err := conforms(t, 1, asIs)
	require.NoError(t, err, out)
	assert.Contains(t, out, "ok   a deleted machine is gone\n")
	assert.Contains(t, out, " 0 failed, 0 skipped\n")
	out, err = conforms(t, 0, asIs)
	require.NoError(t, err, out)
	assert.Contains(t, out, "ok   a cancelled request is on record\n")
	assert.Contains(t, out, " 0 failed, 6 skipped\n")
}

func TestDeviationsFail(t *testing.T) {
	for name, c := range map[string]struct {
		path string // of the calls that are answered wrongly
		with http.HandlerFunc
		want string
	}{
		"a method is missing": {
			"/cancel", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotImplemented) },
			"FAIL the program has the methods: lacks regionInstanceGroupManagerResizeRequests.cancel\n",
		},
		"a change does nothing": {
			"/deleteInstances", func(w http.ResponseWriter, _ *http.Request) {
				_, _ = w.Write([]byte(`{"kind":"compute#operation","name":"o","status":"DONE"}`))
			},
			"FAIL a deleted machine is gone: ",
		},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := conforms(t, 1, func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if strings.HasSuffix(r.URL.Path, c.path) {
						c.with(w, r)
						return
					}
					next.ServeHTTP(w, r)
				})
			})
			require.ErrorContains(t, err, "does not serve region gke-us-central1")
			assert.Contains(t, out, c.want)
		})
	}
}
