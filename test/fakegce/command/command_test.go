package command

import (
	"bufio"
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"cloud.google.com/go/auth/credentials"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// running is a serving command.
type running struct {
	url  string
	log  string // file with its standard error
	stop func() error
}

// start runs the command until the test ends or stop is called.
func start(t *testing.T, args ...string) running {
	t.Helper()
	out, in := io.Pipe()
	r := running{log: filepath.Join(t.TempDir(), "stderr")}
	log, err := os.Create(r.log)
	require.NoError(t, err)
	t.Cleanup(func() { log.Close() })
	ctx, cancel := context.WithCancel(t.Context())
	c := New()
	c.SetArgs(append([]string{"--listen", "127.0.0.1:0"}, args...))
	c.SetOut(in)
	c.SetErr(log)
	ended := make(chan error, 1)
	go func() {
		err := c.ExecuteContext(ctx)
		in.CloseWithError(errors.Join(err, io.EOF))
		ended <- err
	}()
	r.stop = sync.OnceValue(func() error { cancel(); return <-ended })
	t.Cleanup(func() { assert.NoError(t, r.stop()) })
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	r.url = line[strings.Index(line, "http://") : len(line)-1]
	return r
}

func TestCommandIssuesTokensForItsKeyAndForFederation(t *testing.T) {
	key := filepath.Join(t.TempDir(), "key.json")
	r := start(t, "--token", "its own", "--key", key)
	c, err := credentials.NewCredentialsFromFile(credentials.ServiceAccount, key, &credentials.DetectOptions{Scopes: []string{"compute"}})
	require.NoError(t, err)
	token, err := c.Token(t.Context())
	require.NoError(t, err)
	assert.Equal(t, "its own", token.Value)

	exchange := url.Values{
		"grant_type": {"urn:ietf:params:oauth:grant-type:token-exchange"}, "audience": {"a pool"}, "subject_token": {"a.b.c"},
		"requested_token_type": {"urn:ietf:params:oauth:token-type:access_token"},
	}
	incomplete := maps.Clone(exchange)
	incomplete.Del("subject_token")
	for _, c := range []struct {
		form   url.Values
		status int
	}{
		{exchange, http.StatusOK},
		{incomplete, http.StatusBadRequest},
		{url.Values{"grant_type": {"password"}}, http.StatusBadRequest},
	} {
		resp, err := http.PostForm(r.url+"/token", c.form)
		require.NoError(t, err)
		resp.Body.Close()
		assert.Equal(t, c.status, resp.StatusCode, c.form)
	}
}

// brief is the transcript of a trial that ended before it created anything.
const brief = `{"transcript":1,"slurmflex":"v0.1.0","begun":"2026-11-22T10:00:00Z","region":"us-central1","machine_type":"g2-standard-4"}
{"at":0.1,"verb":"GET","path":"/compute/v1/projects/PROJECT/global/instanceTemplates/small","status":200,"answer":{"kind":"compute#instanceTemplate","id":"1","creationTimestamp":"2026-11-01T00:00:00.000-07:00","selfLink":"https://x/small","name":"small","properties":{"machineType":"g2-standard-4","disks":[{"kind":"compute#attachedDisk","index":0,"boot":true,"initializeParams":{"sourceImage":"REMOVED"}}],"networkInterfaces":[{"kind":"compute#networkInterface","network":"REMOVED"}]}}}
{"at":0.2,"verb":"GET","path":"/compute/v1/projects/PROJECT/zones/us-central1-a/machineTypes/nope","status":STATUS,"answer":{"error":{"code":STATUS,"message":"?","errors":[{"reason":"notFound","domain":"global","message":"?"}]}}}
`

func TestCommandComparesItsAnswersWithATranscript(t *testing.T) {
	for status, c := range map[string]struct{ prints, fails string }{
		"404": {"compare: exchanges: 2, differences: 0\n", ""},
		"403": {
			"GET zones/*/machineTypes/*: status: the transcript has 403, the fake 404 The resource 'projects/PROJECT/zones/us-central1-a/machineTypes/nope' was not found\n" +
				"compare: exchanges: 2, differences: 1\n",
			": the fake differs",
		},
	} {
		path := filepath.Join(t.TempDir(), "trial.jsonl")
		require.NoError(t, os.WriteFile(path, []byte(strings.ReplaceAll(brief, "STATUS", status)), 0o600))
		var out strings.Builder
		cmd := New()
		cmd.SetArgs([]string{"--compare", path})
		cmd.SetOut(&out)
		err := cmd.ExecuteContext(t.Context())
		assert.Equal(t, c.prints, out.String())
		if c.fails == "" {
			assert.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, c.fails)
		assert.Equal(t, 1, ExitCode(err))
	}
}
