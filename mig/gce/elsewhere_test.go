package gce

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/test/fakegce"
)

// twoClouds returns a client of two fakes: gke-us-central1 is the second's. wrap is around the
// second's handler; nil: nothing is.
func twoClouds(t *testing.T, region Region, wrap func(http.Handler) http.Handler) (c *Client, google, other *fakegce.Server) {
	t.Helper()
	google = fakegce.New(fakegce.Options{Project: "demo"})
	other = fakegce.New(fakegce.Options{Project: "demo", Zones: []string{"gke-us-central1-a"}})
	var handler http.Handler = other
	if wrap != nil {
		handler = wrap(other)
	}
	first, second := httptest.NewServer(google), httptest.NewServer(handler)
	t.Cleanup(first.Close)
	t.Cleanup(second.Close)
	region.Name, region.Endpoint = "gke-us-central1", second.URL
	c, err := New(t.Context(), Options{Project: "demo", Endpoint: first.URL, Regions: []Region{region}, Jitter: func(time.Duration) time.Duration { return 0 }})
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	return c, google, other
}

func TestEndpointGetsTheTokenOfItsFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(file, []byte("first\n"), 0o600))
	var got string
	c, google, _ := twoClouds(t, Region{TokenFile: file}, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			got = r.Header.Get("Authorization")
			next.ServeHTTP(w, r)
		})
	})
	for _, token := range []string{"first", "second"} {
		require.NoError(t, os.WriteFile(file, []byte(token+"\n"), 0o600))
		_, err := c.ZoneIsUp(t.Context(), "gke-us-central1-a")
		require.NoError(t, err)
		assert.Equal(t, "Bearer "+token, got)
	}
	_, err := c.ZoneIsUp(t.Context(), "us-central1-a")
	require.NoError(t, err)
	assert.Len(t, google.Calls(), 1, "the other region's call went to Google's endpoint")
	require.NoError(t, os.Remove(file))
	_, err = c.ZoneIsUp(t.Context(), "gke-us-central1-a")
	assert.ErrorContains(t, err, "read zone gke-us-central1-a: open "+file+": no such file or directory")
}

func TestMethodsThatAnEndpointLacksAreNamed(t *testing.T) {
	for name, lacks := range map[string]func(http.ResponseWriter){
		"without Google's error": func(w http.ResponseWriter) { http.Error(w, "404 page not found", http.StatusNotFound) },
		"not implemented": func(w http.ResponseWriter) {
			answer(http.StatusNotImplemented, `{"error":{"code":501,"message":"no"}}`)(w, nil)
		},
		"not allowed": func(w http.ResponseWriter) { w.WriteHeader(http.StatusMethodNotAllowed) },
	} {
		t.Run(name, func(t *testing.T) {
			c, _, _ := twoClouds(t, Region{}, func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if strings.HasSuffix(r.URL.Path, "/cancel") || strings.HasSuffix(r.URL.Path, "/bulkInsert") {
						lacks(w)
						return
					}
					next.ServeHTTP(w, r)
				})
			})
			lacking, err := c.Lacking(t.Context(), "gke-us-central1")
			require.NoError(t, err)
			assert.Equal(t, []string{"regionInstanceGroupManagerResizeRequests.cancel", "instances.bulkInsert"}, lacking)
		})
	}
}
