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

	"slurmflex/mig"
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

func TestEachRegionIsServedByItsEndpoint(t *testing.T) {
	c, google, other := twoClouds(t, Region{}, nil)
	for region, cloud := range map[string]*fakegce.Server{"us-central1": google, "gke-us-central1": other} {
		_, err := cloud.AddTemplate(region, fakegce.FlexTemplate("a3", "a3-highgpu-8g"))
		require.NoError(t, err)
		require.NoError(t, c.CreateGroup(t.Context(), mig.GroupSpec{
			Name: "alpha-a3-job-7", Region: region, Zones: []string{region + "-a"}, Stamp: mig.Stamp{Version: 1, Cluster: "alpha", NodeSet: "a3", Job: 7},
			Template: "projects/demo/regions/" + region + "/instanceTemplates/a3",
		}))
		template, err := c.Template(t.Context(), "projects/demo/regions/"+region+"/instanceTemplates/a3")
		require.NoError(t, err)
		assert.Equal(t, "a3-highgpu-8g", template.MachineType)
		_, err = c.Zone(t.Context(), region+"-a")
		assert.NoError(t, err)
	}
	groups, unseen := c.Groups(t.Context(), "alpha", []string{"gke-us-central1", "us-central1"})
	require.Empty(t, unseen)
	require.Len(t, groups, 2)
	assert.Equal(t, []string{"gke-us-central1", "us-central1"}, []string{groups[0].Region, groups[1].Region})
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
		_, err := c.Zone(t.Context(), "gke-us-central1-a")
		require.NoError(t, err)
		assert.Equal(t, "Bearer "+token, got)
	}
	_, err := c.Zone(t.Context(), "us-central1-a")
	require.NoError(t, err)
	assert.Len(t, google.Calls(), 1, "the other region's call went to Google's endpoint")
	require.NoError(t, os.Remove(file))
	_, err = c.Zone(t.Context(), "gke-us-central1-a")
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
