package main

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"slurmflex/test/must"
)

// wireFunc adapts a function to a transport of calls to Compute.
type wireFunc func(*http.Request) (*http.Response, error)

func (f wireFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// inside runs a command in this process with the given transport and with fake time, which passes
// only while all goroutines are idle. It returns the output and the log.
func (w *world) inside(t *testing.T, wire wireFunc, command ...string) (stdout, stderr string, err error) {
	t.Helper()
	log := must.Get(os.Create(filepath.Join(t.TempDir(), "stderr")))
	defer log.Close()
	was := os.Stderr
	os.Stderr = log
	defer func() { os.Stderr = was }()
	var out bytes.Buffer
	root := newRoot(&app{transport: wire})
	root.SetOut(&out)
	root.SetArgs(append([]string{"--config", w.path("config.yaml")}, command...))
	err = root.ExecuteContext(t.Context())
	return out.String(), must.Text(log.Name()), err
}

// silentCompute never answers.
func silentCompute(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}
