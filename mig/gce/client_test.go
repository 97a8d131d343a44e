package gce

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"os/user"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/mig"
	"slurmflex/test/fakegce"
	"slurmflex/test/must"
)

func TestInvalidOptionsAreRejectedInOneLine(t *testing.T) {
	dir := t.TempDir()
	untyped := filepath.Join(dir, "untyped.json")
	require.NoError(t, os.WriteFile(untyped, []byte("{}"), 0o600))
	tests := map[string]struct {
		options Options
		want    string
	}{
		"no project":             {Options{Endpoint: "http://127.0.0.1:8900"}, "no project"},
		"an endpoint with path":  {Options{Project: "p", Endpoint: "http://127.0.0.1:8900/compute/v1"}, `endpoint "http://127.0.0.1:8900/compute/v1": want a scheme and a host only`},
		"no credentials file":    {Options{Project: "p", CredentialsFile: filepath.Join(dir, "none.json")}, "no such file"},
		"credentials of no type": {Options{Project: "p", CredentialsFile: untyped}, "credentials file " + untyped},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := New(t.Context(), test.options)
			require.ErrorContains(t, err, "compute client: ")
			require.ErrorContains(t, err, test.want)
			assert.NotContains(t, err.Error(), "\n")
		})
	}
}

// bare removes from the test's environment the variables that a program started by slurmctld may
// lack.
func bare(t *testing.T) {
	t.Helper()
	for _, name := range []string{"HOME", "PATH", "GOOGLE_APPLICATION_CREDENTIALS"} {
		t.Setenv(name, "")
		require.NoError(t, os.Unsetenv(name))
	}
}

// tokenServer issues tokens, or rejects requests with its status, and counts them.
type tokenServer struct {
	*httptest.Server
	asked atomic.Int32
}

func newTokenServer(t *testing.T, status int) *tokenServer {
	t.Helper()
	s := &tokenServer{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.asked.Add(1)
		if status != http.StatusOK {
			answer(status, `{"error":"invalid_grant","error_description":"Invalid JWT Signature."}`)(w, r)
			return
		}
		ok(`{"access_token":"secret","token_type":"Bearer","expires_in":3600}`)(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

// serviceAccount writes the key file of a service account that gets its tokens at that address.
func serviceAccount(t *testing.T, tokens string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "key.json")
	must.Do(os.WriteFile(file, must.Get(fakegce.ServiceAccountKey("p", tokens)), 0o600))
	return file
}

// google is an API server that requires authentication, as Google's does.
type google struct {
	*script
	hosts, tokens []string
}

func (g *google) RoundTrip(req *http.Request) (*http.Response, error) {
	g.hosts = append(g.hosts, req.URL.Scheme+"://"+req.URL.Host)
	g.tokens = append(g.tokens, req.Header.Get("Authorization"))
	return inMemory{g.script}.RoundTrip(req)
}

func TestCallsAreAuthenticatedWithoutHomeAndPath(t *testing.T) {
	tests := map[string]func(*testing.T, *tokenServer) Options{
		"from a file named in the environment": func(t *testing.T, s *tokenServer) Options {
			t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", serviceAccount(t, s.URL))
			return Options{}
		},
		"from the metadata server": func(t *testing.T, s *tokenServer) Options {
			if u, err := user.Current(); err == nil {
				own := filepath.Join(u.HomeDir, ".config", "gcloud", "application_default_credentials.json")
				if _, err := os.Stat(own); err == nil {
					t.Skip("gcloud's credentials in the home directory come before the metadata server")
				}
			}
			t.Setenv("GCE_METADATA_HOST", s.Listener.Addr().String())
			return Options{}
		},
	}
	for name, given := range tests {
		t.Run(name, func(t *testing.T) {
			bare(t)
			tokens := newTokenServer(t, http.StatusOK)
			api := &google{script: answers(answer(503, ""), ok(done))}
			o := given(t, tokens)
			o.Project, o.Transport = testProject, api
			o.Rate, o.Burst = 0.001, 2 // two calls, then none for a quarter of an hour
			c, err := New(t.Context(), o)
			require.NoError(t, err)
			require.NoError(t, deleteGroup(t, c))
			assert.Equal(t, []string{"https://compute.googleapis.com", "https://compute.googleapis.com"}, api.hosts)
			assert.Equal(t, []string{"Bearer secret", "Bearer secret"}, api.tokens)
			assert.EqualValues(t, 1, tokens.asked.Load(), "one token serves both attempts")
		})
	}
}

func TestRejectedCredentialsAreNamed(t *testing.T) {
	bare(t)
	tokens := newTokenServer(t, http.StatusBadRequest)
	api := &google{script: answers(ok(done))}
	c, err := New(t.Context(), Options{Project: testProject, Transport: api, CredentialsFile: serviceAccount(t, tokens.URL)})
	require.NoError(t, err)
	err = deleteGroup(t, c)
	require.ErrorContains(t, err, "delete group g: auth: cannot fetch token: 400")
	require.ErrorContains(t, err, "Invalid JWT Signature.")
	assert.NotContains(t, err.Error(), "\n")
	assert.Equal(t, mig.CauseCredentials, mig.CauseOf(err), "a permission error would hold jobs")
	assert.Empty(t, api.hosts)
}

func TestEndpointGetsNoTokenFromDefaultCredentials(t *testing.T) {
	bare(t)
	api := &google{script: answers(ok(done), ok(done))}
	c := clientOf(t, api, func(o *Options) { o.Endpoint = "http://127.0.0.1:8900/" })
	require.NoError(t, deleteGroup(t, c))
	assert.Equal(t, []string{"http://127.0.0.1:8900"}, api.hosts)
	assert.Equal(t, []string{""}, api.tokens)

	c = clientOf(t, api, func(o *Options) {
		o.Endpoint, o.CredentialsFile = "https://compute.test", serviceAccount(t, newTokenServer(t, http.StatusOK).URL)
	})
	require.NoError(t, deleteGroup(t, c))
	assert.Equal(t, "Bearer secret", api.tokens[1], "what the admin names for it")
}

func TestCallThatWouldExceedItsDeadlineIsNotSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := answers(ok(done))
		c := clientOf(t, inMemory{api}, func(o *Options) { o.Rate, o.Burst = 0.001, 1 })
		require.NoError(t, deleteGroup(t, c))
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		err := c.DeleteGroup(ctx, testRegion, "g")
		require.ErrorContains(t, err, "delete group g: waiting for the rate limit: ")
		assert.Equal(t, mig.CauseUnavailable, mig.CauseOf(err))
		assert.Len(t, api.calls, 1)
	})
}

// B10: the time in Compute's answers serves to check our own clock.
func TestDateIsTheTimeOfComputesLastAnswer(t *testing.T) {
	client := clientOf(t, inMemory{http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Date", "Sun, 01 Nov 2026 09:00:00 GMT")
		aList(`{}`)(w, r)
	})})
	assert.Zero(t, client.Date())
	_, err := groupsIn(t, client)
	require.NoError(t, err)
	assert.Equal(t, time.Date(2026, 11, 1, 9, 0, 0, 0, time.UTC), client.Date().UTC())
}
