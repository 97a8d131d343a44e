package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/test/fakegce"
)

const plantedToken = "ya29.planted-token"

// authenticated gives the world a service account's key and makes its Compute require
// authentication. It returns the key's secret, line by line.
func (w *world) authenticated() (wire wireFunc, secret []string) {
	w.Helper()
	tokens := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, _ *http.Request) {
		out.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(out, `{"access_token":%q,"token_type":"Bearer","expires_in":3600}`, plantedToken)
	}))
	w.Cleanup(tokens.Close)
	file, err := fakegce.ServiceAccountKey("demo", tokens.URL)
	require.NoError(w, err)
	var key struct {
		ID  string `json:"private_key_id"`
		Key string `json:"private_key"`
	}
	require.NoError(w, json.Unmarshal(file, &key))
	require.NoError(w, os.WriteFile(w.path("key.json"), file, 0o600))
	wire = func(r *http.Request) (*http.Response, error) {
		if r.Header.Get("Authorization") != "Bearer "+plantedToken {
			return nil, fmt.Errorf("%s without a token", r.URL)
		}
		answer := httptest.NewRecorder()
		w.cloud.ServeHTTP(answer, r)
		return answer.Result(), nil
	}
	lines := strings.Split(strings.TrimSpace(key.Key), "\n")
	return wire, append(lines[1:len(lines)-1], plantedToken, key.ID, "assertion=")
}

func TestSecretsAreNeitherLoggedNorPrinted(t *testing.T) {
	w := newWorld(t)
	w.waiting()
	wire, secret := w.authenticated()
	w.configure("slurmflex:\n", "google_app_cred_path: DIR/key.json\nslurmflex:\n  log_level: debug\n")
	w.configure("  compute_endpoint: ", "#")
	refused := func(*http.Request) (*http.Response, error) {
		return &http.Response{
			StatusCode: http.StatusUnauthorized, Header: http.Header{"Www-Authenticate": {"Bearer"}},
			Body: http.NoBody,
		}, nil
	}
	var all strings.Builder
	for _, call := range []struct {
		command string
		compute wireFunc
	}{{"plan", wire}, {"sync", wire}, {"status", wire}, {"sync", refused}} {
		out, log, err := w.inside(t, call.compute, call.command)
		fmt.Fprintln(&all, out, log, err)
	}
	require.Len(t, w.machines(), 2, "the token was good for everything")
	require.Contains(t, all.String(), `debug compute {"method": "regionInstanceGroupManagers.insert"`, "every call is in the log")
	for _, s := range secret {
		assert.NotContains(t, all.String(), s)
	}
}

func TestCredentialsReadableByOthersAreRejected(t *testing.T) {
	w := newWorld(t)
	w.write("key.json", "{}")
	for _, command := range []string{"sync", "daemon", "plan", "status"} {
		r := w.flex(command)
		r.Env = append(r.Env, "GOOGLE_APPLICATION_CREDENTIALS="+w.path("key.json"))
		r.exits(exitUsage).complains("GOOGLE_APPLICATION_CREDENTIALS: ", "is accessible to other users (mode 0644); run chmod 600 ")
	}
	w.configure("slurmflex:\n", "google_app_cred_path: DIR/key.json\nslurmflex:\n")
	for _, command := range []string{"sync", "config check"} {
		w.rejects(strings.Fields(command)...).complains("credentials file: ", "key.json is accessible to other users (mode 0644)")
	}
	assert.Empty(t, w.calls())
}
