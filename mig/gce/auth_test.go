package gce

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"cloud.google.com/go/auth"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/mig"
)

// issuer adapts a function to a source of tokens.
type issuer func(context.Context) (*auth.Token, error)

func (f issuer) Token(ctx context.Context) (*auth.Token, error) { return f(ctx) }

// finds returns credentials with tokens from the issuer.
func finds(f issuer) func() (*auth.Credentials, error) {
	return func() (*auth.Credentials, error) {
		return auth.NewCredentials(&auth.CredentialsOptions{TokenProvider: f}), nil
	}
}

// D12: the token endpoint accepts connections and never answers.
func TestSilentTokenEndpointDoesNotBlockThePass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var fetches atomic.Int32
		find := finds(func(ctx context.Context) (*auth.Token, error) {
			fetches.Add(1)
			<-ctx.Done()
			return nil, ctx.Err()
		})
		next, err := withTokens(t.Context(), roundTripper(func(*http.Request) (*http.Response, error) {
			assert.Fail(t, "Compute was called without a token")
			return nil, http.ErrAbortHandler
		}), find)
		require.NoError(t, err)
		c, start := clientOf(t, next), time.Now()
		var side sync.WaitGroup
		for range 8 {
			side.Go(func() {
				_, unseen := c.Groups(t.Context(), "alpha", []string{testRegion, "europe-west4"})
				require.Len(t, unseen, 2)
				require.ErrorContains(t, unseen[testRegion], "no access token within 10s, so Compute was not called: check the token endpoint and the network")
				assert.Equal(t, mig.CauseUnavailable, mig.CauseOf(unseen[testRegion]))
			})
		}
		side.Wait()
		assert.Equal(t, tokenTime, time.Since(start))
		assert.EqualValues(t, 1, fetches.Load(), "all calls wait for one fetch")
	})
}

// J5: Google's credentials cache the token for an hour, so a repeated call would carry it again.
func TestRejectedTokenIsReplacedWithinTheCall(t *testing.T) {
	bare(t)
	var issued atomic.Int32
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ok(fmt.Sprintf(`{"access_token":"token-%d","token_type":"Bearer","expires_in":3600}`, issued.Add(1)))(w, r)
	}))
	defer endpoint.Close()
	for name, first := range map[string]http.HandlerFunc{
		"in Google's format": refusal(401, "authError", "Request had invalid authentication credentials."),
		"without a body":     answer(401, ""),
	} {
		t.Run(name, func(t *testing.T) {
			issued.Store(0)
			api := &google{script: answers(first, ok(done), ok(done))}
			c, err := New(t.Context(), Options{Project: testProject, Transport: api, CredentialsFile: serviceAccount(t, endpoint.URL)})
			require.NoError(t, err)
			require.NoError(t, deleteGroup(t, c))
			require.NoError(t, c.DeleteGroup(t.Context(), testRegion, "h"))
			assert.Equal(t, []string{"Bearer token-1", "Bearer token-2", "Bearer token-2"}, api.tokens)
		})
	}
}

// J5: a new key file replaces a revoked one.
func TestCredentialsAreReadAgainAfterTheirTokenIsRejected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var found atomic.Int32
		next, err := withTokens(t.Context(), roundTripper(func(req *http.Request) (*http.Response, error) {
			if req.Header.Get("Authorization") != "Bearer of login 3" {
				return inMemory{answer(401, "")}.RoundTrip(req)
			}
			return inMemory{ok(done)}.RoundTrip(req)
		}), func() (*auth.Credentials, error) {
			n := found.Add(1)
			if n == 2 {
				return nil, errors.New("credentials file: being replaced")
			}
			return finds(func(context.Context) (*auth.Token, error) {
				return &auth.Token{Value: fmt.Sprintf("of login %d", n), Expiry: time.Now().Add(time.Hour)}, nil
			})()
		})
		require.NoError(t, err)
		c := clientOf(t, next)
		var side sync.WaitGroup
		for range 8 {
			side.Go(func() { assert.NoError(t, deleteGroup(t, c)) })
		}
		side.Wait()
		assert.EqualValues(t, 3, found.Load(), "calls with the same rejected token share one login")
	})
}

// D12: a redirect would carry the signed assertion to another host, and an answer may have any
// length.
func TestTokenEndpointRedirectsAndLongAnswersAreRejected(t *testing.T) {
	bare(t)
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { assert.Fail(t, "followed") }))
	defer other.Close()
	for name, test := range map[string]struct {
		answer http.HandlerFunc
		says   string
	}{
		"moved": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
		}, "307"},
		"long": {ok(`{"access_token":"` + strings.Repeat("x", 64<<20) + `"}`), "answer longer than 65536 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			endpoint := httptest.NewServer(test.answer)
			defer endpoint.Close()
			file := serviceAccount(t, endpoint.URL)
			c, err := New(t.Context(), Options{Project: testProject, Endpoint: "https://compute.test", CredentialsFile: file, Transport: roundTripper(hung)})
			require.NoError(t, err)
			_, unseen := c.Groups(tryingOnce(t.Context()), "alpha", []string{testRegion})
			assert.ErrorContains(t, unseen[testRegion], test.says)
		})
	}
}

func TestGooglesClientPresentsTheHostsCertificate(t *testing.T) {
	assert.True(t, needsCertificate([]byte(`{"type":"external_account","credential_source":{"certificate":{"use_default_certificate_config":true}}}`)))
	assert.False(t, needsCertificate([]byte(`{"type":"external_account","credential_source":{"file":"/token"}}`)))
	assert.False(t, needsCertificate(nil))
}

func TestBrokenKeyFileIsNamedBeforeAnyCall(t *testing.T) {
	file := filepath.Join(t.TempDir(), "key.json")
	for key, says := range map[string]string{
		"cut off": "private_key is not a PEM block",
		"-----BEGIN PRIVATE KEY-----\\nMIIB\\n-----END PRIVATE KEY-----\\n": "private_key is not a private key",
	} {
		require.NoError(t, os.WriteFile(file, []byte(`{"type":"service_account","client_email":"a@b","token_uri":"http://127.0.0.1:1","private_key":"`+key+`"}`), 0o600))
		_, err := findCredentials(file)
		require.ErrorContains(t, err, "credentials file "+file+": "+says)
	}
}
