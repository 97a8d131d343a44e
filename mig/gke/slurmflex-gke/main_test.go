package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/mig/gke"
	"slurmflex/mig/gke/standin"
)

// configured writes a configuration and a kubeconfig, and returns the flags that name them.
func configured(t *testing.T, kube string) []string {
	t.Helper()
	dir := t.TempDir()
	write := func(name, text string) string {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
		return filepath.Join(dir, name)
	}
	return []string{
		"--config", write("gke.yaml", "{region: gke-us-central1, zones: [a], pools: {flex: {machine: {type: a3-highgpu-8g, cpus: 208, memory_mb: 1916928, gpu: nvidia-h100-80gb, gpus: 8}}}}"),
		"--kubeconfig", write("kubeconfig", "{apiVersion: v1, kind: Config, current-context: c, clusters: [{name: c, cluster: {server: '"+kube+"'}}], contexts: [{name: c, context: {cluster: c, user: u}}], users: [{name: u}]}"),
	}
}

func TestGatewayServesUntilItIsStopped(t *testing.T) {
	kube := httptest.NewServer(standin.New(standin.Options{}))
	defer kube.Close()
	ctx, stop := context.WithCancel(t.Context())
	read, write := io.Pipe()
	ended, args := make(chan error, 1), append(configured(t, kube.URL), "--listen", "127.0.0.1:0", "--watch", "")
	go func() {
		ended <- run(ctx, args, write, io.Discard)
		write.Close()
	}()
	line := make([]byte, 200)
	n, err := read.Read(line)
	require.NoError(t, err)
	endpoint := strings.TrimSpace(strings.TrimPrefix(string(line[:n]), "slurmflex-gke serves at "))
	resp, err := http.Get(endpoint + "/compute/v1/projects/demo/regions/gke-us-central1") //nolint:noctx // a test
	require.NoError(t, err)
	resp.Body.Close()
	assert.Equal(t, http.StatusOK, resp.StatusCode)
	stop()
	select {
	case err := <-ended:
		assert.NoError(t, err)
	case <-time.After(10 * time.Second):
		t.Fatal("it goes on")
	}
}

func TestWrongCallsAreNamedInOneLine(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"no configuration":         {[]string{"--config", "/none/gke.yaml"}, "read configuration: open /none/gke.yaml: no such file or directory"},
		"no credentials":           {append(configured(t, ""), "--kubeconfig", "/none/kubeconfig"), "kubernetes credentials: stat /none/kubeconfig: no such file or directory; give --kubeconfig"},
		"open to all":              {append(configured(t, "http://127.0.0.1:1"), "--listen", "0.0.0.0:0"), "anyone who reaches 0.0.0.0:0 could request machines; give --token-file, or a loopback address"},
		"an address that is taken": {append(configured(t, "http://127.0.0.1:1"), "--listen", "127.0.0.1:x"), "listen tcp: lookup tcp/x: unknown port"},
		"an unknown command":       {[]string{"stop"}, `unexpected argument "stop"; see slurmflex-gke --help`},
	} {
		t.Run(name, func(t *testing.T) {
			assert.EqualError(t, run(t.Context(), c.args, io.Discard, io.Discard), c.want)
		})
	}
}

func TestTemplateIsPrinted(t *testing.T) {
	var out strings.Builder
	require.NoError(t, run(t.Context(), []string{"template"}, &out, io.Discard))
	assert.Equal(t, gke.DefaultTemplate, out.String())
}

// TestManPage compares the page with the help; with UPDATE=1 it rewrites it.
func TestManPage(t *testing.T) {
	roff := strings.NewReplacer(`\`, `\e`, `-`, `\-`).Replace
	first, rest, _ := strings.Cut(usage, "\n")
	_, does, _ := strings.Cut(first, " ")
	calls, credentials, _ := strings.Cut(strings.TrimSpace(strings.TrimSuffix(rest, "Flags:\n")), "\n\n")
	var page strings.Builder
	fmt.Fprintf(&page, ".\\\" Written by UPDATE=1 go test ./slurmflex-gke -run TestManPage in mig/gke; do not edit.\n"+
		".TH SLURMFLEX\\-GKE 1 \"\" slurmflex slurmflex\n.SH NAME\nslurmflex\\-gke \\- %s\n.SH SYNOPSIS\n.nf%s\n.fi\n.SH DESCRIPTION\n%s\n.SH OPTIONS\n",
		roff(does), roff(strings.TrimPrefix(calls, "Usage:")), roff(credentials))
	(&options{}).flags(&page).VisitAll(func(f *flag.Flag) {
		value, meaning := flag.UnquoteUsage(f)
		if f.DefValue != "" && f.DefValue != "false" {
			meaning += " (default: " + f.DefValue + ")"
		}
		fmt.Fprintf(&page, ".TP\n.B %s\\fI %s\\fR\n%s\n", roff("--"+f.Name), roff(value), roff(meaning))
	})
	page.WriteString(".SH SEE ALSO\n\\fBslurmflex\\fR(1), /usr/share/doc/slurmflex/docs/gke.md\n")
	const file = "slurmflex-gke.1"
	if os.Getenv("UPDATE") != "" {
		require.NoError(t, os.WriteFile(file, []byte(page.String()), 0o644))
	}
	is, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, page.String(), string(is), "run UPDATE=1 go test ./slurmflex-gke -run TestManPage")
}

func TestHelpNamesEveryFlag(t *testing.T) {
	var out strings.Builder
	assert.Error(t, run(t.Context(), []string{"--help"}, &out, io.Discard))
	for _, flag := range []string{"-config", "-kubeconfig", "-listen", "-watch", "-token-file", "-debug"} {
		assert.Contains(t, out.String(), "  "+flag)
	}
}
