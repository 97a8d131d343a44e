package gce

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/test/fakegce"
)

// E3: Compute compresses its answers because the User-Agent asks for it.
func TestAnswersAreCompressed(t *testing.T) {
	cloud := fakegce.New(fakegce.Options{Project: testProject})
	api := httptest.NewServer(cloud)
	defer api.Close()
	var calls, packed atomic.Int32
	c := clientOf(t, roundTripper(func(r *http.Request) (*http.Response, error) {
		assert.Equal(t, "slurmflex/v1.2.0 (gzip)", r.UserAgent())
		answer, err := http.DefaultTransport.RoundTrip(r)
		if calls.Add(1); err == nil && answer.Uncompressed {
			packed.Add(1)
		}
		return answer, err
	}), func(o *Options) { o.Version, o.Endpoint = "v1.2.0", api.URL })
	require.Error(t, deleteGroup(t, c))
	_, err := groupsIn(t, c)
	require.NoError(t, err)
	assert.EqualValues(t, 2, calls.Load())
	assert.EqualValues(t, 2, packed.Load(), "changes are answered so too")
}
