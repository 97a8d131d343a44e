package gce

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"cloud.google.com/go/auth"
	"cloud.google.com/go/auth/credentials"
	"golang.org/x/sync/singleflight"
	"google.golang.org/api/option"
	transport "google.golang.org/api/transport/http"

	"slurmflex/config/regular"
)

const (
	computeScope     = "https://www.googleapis.com/auth/compute"
	credentialsLimit = 1 << 20 // bytes; such a file has a few thousand

	tokenTime  = 10 * time.Second // for fetching an access token
	tokenLimit = 64 << 10         // bytes of the token endpoint's answer, typically a few thousand
)

// authenticated returns base with an access token on each request, if the API requires one. It lies
// below the rate limit and the retries: each attempt gets a valid token, and fetching a token does
// not count towards the rate.
func (o Options) authenticated(ctx context.Context, base http.RoundTripper) (http.RoundTripper, error) {
	if o.Endpoint != "" && o.CredentialsFile == "" {
		return base, nil
	}
	return withTokens(ctx, base, func() (*auth.Credentials, error) { return findCredentials(o.CredentialsFile) })
}

// withTokens returns base with an access token on each request, from the credentials that find
// returns.
func withTokens(ctx context.Context, base http.RoundTripper, find func() (*auth.Credentials, error)) (http.RoundTripper, error) {
	t := &tokens{logIn: func() (*login, error) {
		creds, err := find()
		if err != nil {
			return nil, err
		}
		creds.TokenProvider = auth.NewCachedTokenProvider(creds.TokenProvider, nil)
		next, err := transport.NewTransport(ctx, base, option.WithAuthCredentials(creds), option.WithTelemetryDisabled())
		if err != nil {
			return nil, err
		}
		return &login{next: next, provider: creds}, nil
	}}
	var err error
	t.current, err = t.logIn()
	return t, err
}

// tokens fetches an access token before a call that needs a new one. All calls wait for the same
// fetch, for tokenTime at most. Google's transport would fetch a token for each call in turn, each
// bounded only by that call's own timeout.
//
// Google's credentials cache their token until it expires, and offer no way to drop it. So after an
// answer with status 401, tokens reads the credentials again, which also finds a renewed key file.
type tokens struct {
	logIn   func() (*login, error)
	fetches singleflight.Group

	mu      sync.Mutex
	current *login // nil: Compute rejected its token
}

// login is credentials with their cached token.
type login struct {
	next     http.RoundTripper  // sends requests with the token
	provider auth.TokenProvider // caches the token until it expires
}

// RoundTrip waits for a token, then sends the request.
func (t *tokens) RoundTrip(req *http.Request) (*http.Response, error) {
	l, err := t.await(req.Context())
	if err != nil {
		if req.Body != nil {
			req.Body.Close()
		}
		return nil, err
	}
	resp, err := l.next.RoundTrip(req)
	if err == nil && resp.StatusCode == http.StatusUnauthorized {
		t.drop(l)
	}
	return resp, err
}

// await returns a login that has a token.
func (t *tokens) await(ctx context.Context) (*login, error) {
	fetched := t.fetches.DoChan("", func() (any, error) {
		l, err := t.login()
		if err != nil {
			return nil, err
		}
		fetching, over := context.WithTimeout(context.WithoutCancel(ctx), tokenTime)
		defer over()
		_, err = l.provider.Token(fetching)
		if err != nil && fetching.Err() != nil {
			err = noTokenError{err}
		}
		return l, err
	})
	select {
	case f := <-fetched:
		if f.Err != nil {
			return nil, f.Err
		}
		return f.Val.(*login), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// login returns the current login, or a new one.
func (t *tokens) login() (*login, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.current != nil {
		return t.current, nil
	}
	var err error
	t.current, err = t.logIn()
	return t.current, err
}

// drop forgets a login whose token Compute rejected. Another call may have replaced the login
// already.
func (t *tokens) drop(l *login) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.current == l {
		t.current = nil
	}
}

// noTokenError reports that the token endpoint did not answer in time. The call is not retried, so
// the pass continues; the next pass fetches a token again.
type noTokenError struct{ err error }

func (e noTokenError) Error() string {
	return fmt.Sprintf("no access token within %s, so Compute was not called: check the token endpoint and the network: %v", tokenTime, e.err)
}

func (e noTokenError) Unwrap() error { return e.err }

// tokenClient returns the client that fetches tokens. It follows no redirects, because the
// redirected request would carry the signed assertion to another host.
func tokenClient() *http.Client {
	return &http.Client{Transport: tokenTransport{defaultTransport()}, CheckRedirect: noRedirect, Timeout: tokenTime}
}

// tokenTransport limits the length of an answer.
type tokenTransport struct{ next http.RoundTripper }

func (t tokenTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := t.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if err := readBody(resp, 0, tokenLimit); err != nil {
		return nil, err
	}
	return resp, nil
}

// findCredentials reads the credentials in file. If file is empty, it reads the Application Default
// Credentials: GOOGLE_APPLICATION_CREDENTIALS, gcloud's file in the home directory, or the metadata
// server, in this order.
func findCredentials(file string) (*auth.Credentials, error) {
	o := &credentials.DetectOptions{Scopes: []string{computeScope}, Client: tokenClient()}
	creds, err := readCredentials(file, o)
	if err == nil && needsCertificate(creds.JSON()) {
		o.Client = nil // Google's own client presents the certificate
		creds, err = readCredentials(file, o)
	}
	return creds, err
}

func readCredentials(file string, o *credentials.DetectOptions) (*auth.Credentials, error) {
	if file == "" {
		return credentials.DetectDefault(o)
	}
	b, err := regular.Read(file, credentialsLimit)
	if err != nil {
		return nil, fmt.Errorf("credentials: %w", err)
	}
	var kind struct {
		Type credentials.CredType
		Key  string `json:"private_key"`
	}
	err = json.Unmarshal(b, &kind)
	if err == nil && kind.Type == credentials.ServiceAccount {
		err = checkKey(kind.Key)
	}
	if err != nil {
		return nil, fmt.Errorf("credentials file %s: %w", file, err)
	}
	creds, err := credentials.NewCredentialsFromJSON(kind.Type, b, o)
	if err != nil {
		return nil, fmt.Errorf("credentials file %s: %w", file, err)
	}
	return creds, nil
}

// checkKey checks the private key of a service account. Google's client would try to use a broken
// key in each call.
func checkKey(key string) error {
	block, _ := pem.Decode([]byte(key))
	if block == nil {
		return errors.New("private_key is not a PEM block; create the key again")
	}
	_, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		_, err = x509.ParsePKCS1PrivateKey(block.Bytes)
	}
	if err != nil {
		return errors.New("private_key is not a private key; create the key again")
	}
	return nil
}

// needsCertificate reports whether the credentials identify this host by the certificate in its
// certificate configuration. Source: "Workload identity federation with X.509 certificates".
func needsCertificate(file []byte) bool {
	var f struct {
		Source struct {
			Certificate struct {
				Default bool `json:"use_default_certificate_config"`
			} `json:"certificate"`
		} `json:"credential_source"`
	}
	return json.Unmarshal(file, &f) == nil && f.Source.Certificate.Default
}

// refused reports whether Google rejected the credentials, so that a retry at once cannot help.
func refused(err error) bool {
	var e *auth.Error
	if !errors.As(err, &e) || e.Response == nil {
		return false
	}
	status := e.Response.StatusCode
	return status >= 300 && status < 500 && !e.Temporary()
}
