package gce

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"cloud.google.com/go/auth"
	"cloud.google.com/go/auth/credentials"
	"google.golang.org/api/option"
	transport "google.golang.org/api/transport/http"

	"slurmflex/config/regular"
)

const (
	computeScope     = "https://www.googleapis.com/auth/compute"
	credentialsLimit = 1 << 20 // bytes; such a file has a few thousand
)

// authenticated is base with an access token on each request, if the API wants
// one. It lies below rate limit and retries: each attempt of a call gets a
// token that is valid then, and fetching one costs no rate.
func (o Options) authenticated(ctx context.Context, base http.RoundTripper) (http.RoundTripper, error) {
	if o.Endpoint != "" && o.CredentialsFile == "" {
		return base, nil
	}
	creds, err := findCredentials(o.CredentialsFile)
	if err != nil {
		return nil, err
	}
	return transport.NewTransport(ctx, base, option.WithAuthCredentials(creds), option.WithTelemetryDisabled())
}

// findCredentials reads the credentials in file or, if that is empty, the
// Application Default Credentials: GOOGLE_APPLICATION_CREDENTIALS, gcloud's
// file in the home directory if there is one, the metadata server.
func findCredentials(file string) (*auth.Credentials, error) {
	o := &credentials.DetectOptions{Scopes: []string{computeScope}}
	if file == "" {
		return credentials.DetectDefault(o)
	}
	b, err := regular.Read(file, credentialsLimit)
	if err != nil {
		return nil, fmt.Errorf("credentials: %w", err)
	}
	var kind struct{ Type credentials.CredType }
	if err := json.Unmarshal(b, &kind); err != nil {
		return nil, fmt.Errorf("credentials file %s: %w", file, err)
	}
	creds, err := credentials.NewCredentialsFromJSON(kind.Type, b, o)
	if err != nil {
		return nil, fmt.Errorf("credentials file %s: %w", file, err)
	}
	return creds, nil
}

// refused reports whether no token could be had because Google does not accept
// the credentials, which trying again does not change.
func refused(err error) bool {
	var e *auth.Error
	if !errors.As(err, &e) || e.Response == nil {
		return false
	}
	status := e.Response.StatusCode
	return status >= 400 && status < 500 && !e.Temporary()
}
