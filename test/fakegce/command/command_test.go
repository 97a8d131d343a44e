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
	"time"

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

func (r running) do(t *testing.T, verb, path, body string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), verb, r.url+path, strings.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer t")
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, resp.StatusCode, string(b))
	return string(b)
}

// grow creates a group with one instance n0 through the API.
func (r running) grow(t *testing.T) {
	t.Helper()
	const groups = "/compute/v1/projects/p/regions/us-central1/instanceGroupManagers"
	r.do(t, "POST", groups, `{"name":"m","targetSize":0,"versions":[{"instanceTemplate":"regions/us-central1/instanceTemplates/a3"}],
		"distributionPolicy":{"targetShape":"ANY_SINGLE_ZONE","zones":[{"zone":"zones/us-central1-a"}]},
		"updatePolicy":{"instanceRedistributionType":"NONE"},"instanceLifecyclePolicy":{"defaultActionOnFailure":"DO_NOTHING"}}`)
	r.do(t, "POST", groups+"/m/resizeRequests", `{"name":"r","instances":[{"name":"n0"}]}`)
}

func instant(more ...string) []string {
	return append([]string{
		"--project", "p", "--operation-time", "0", "--boot-time", "0", "--delete-time", "0",
		"--template", "a3=a3-highgpu-8g@us-central1", "--template", "everywhere=g2-standard-4",
	}, more...)
}

func script(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "hook")
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o755))
	return path
}

func TestCommandRunsProgramsOnBootAndOnDelete(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	hook := script(t, `echo "$0 $1 $INSTANCE_NAME $INSTANCE_ZONE $INSTANCE_GROUP $INSTANCE_TEMPLATE $(cut -d' ' -f6 /proc/$$/stat) $$" >>`+log)
	r := start(t, instant("--boot-command", hook, "--delete-command", hook)...)
	r.grow(t)
	lines := func() []string {
		b, _ := os.ReadFile(log)
		return strings.Split(strings.TrimSpace(string(b)), "\n")
	}
	require.Eventually(t, func() bool { return lines()[0] != "" }, time.Minute, time.Millisecond)
	fields := strings.Fields(lines()[0])
	require.Len(t, fields, 8)
	assert.Equal(t, []string{
		hook, "n0", "n0", "us-central1-a", "m", "projects/p/regions/us-central1/instanceTemplates/a3",
	}, fields[:6])
	assert.Equal(t, fields[6], fields[7], "it leads its own session")

	r.do(t, "POST", "/fake/vms/n0/delete", "")
	require.Eventually(t, func() bool { return len(lines()) == 2 }, time.Minute, time.Millisecond)
}

func TestFailingProgramIsReported(t *testing.T) {
	hook := script(t, "echo sad >&2; exit 3")
	r := start(t, instant("--boot-command", hook)...)
	r.grow(t)
	said := func(text string) bool {
		all, _ := os.ReadFile(r.log)
		return strings.Contains(string(all), text)
	}
	require.Eventually(t, func() bool { return said(hook + " n0: exit status 3") }, time.Minute, time.Millisecond)
	assert.True(t, said("sad"))
}

func TestCommandStopsCleanlyWhileACallWaits(t *testing.T) {
	r := start(t, instant("--operation-time", "1h")...)
	body := r.do(t, "POST", "/compute/v1/projects/p/global/instanceTemplates", `{"name":"new","properties":{"machineType":"g2-standard-4",
		"disks":[{"boot":true}],"networkInterfaces":[{"network":"global/networks/default"}]}}`)
	_, name, _ := strings.Cut(body, "operation-")
	name, _, _ = strings.Cut("operation-"+name, `"`)
	waiting := make(chan struct{})
	go func() {
		defer close(waiting)
		resp, err := http.Post(r.url+"/compute/v1/projects/p/global/operations/"+name+"/wait", "", nil)
		if err == nil {
			resp.Body.Close()
		}
	}()
	require.Eventually(t, func() bool { return strings.Contains(r.do(t, "GET", "/fake/counts", ""), "globalOperations.wait") }, time.Minute, time.Millisecond)
	assert.NoError(t, r.stop())
	<-waiting
}

func TestCommandTakesCapacitySwitchesAndAManualClock(t *testing.T) {
	r := start(t, instant("--capacity", "0", "--switches", `{"targetSizeAt":"SUCCEEDED"}`, "--manual-clock")...)
	r.grow(t)
	state := r.do(t, "GET", "/fake/state", "")
	assert.Contains(t, state, "ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS")
	assert.Contains(t, state, `"targetSize":0`)
	r.do(t, "POST", "/fake/capacity", `{"count":1}`)
	r.do(t, "POST", "/fake/advance", `{"duration":"30s"}`)
	state = r.do(t, "GET", "/fake/state", "")
	assert.Contains(t, state, `"status":"RUNNING"`)
	assert.Contains(t, state, `"targetSize":1`)
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

func TestWrongUsageNamesTheFlag(t *testing.T) {
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"--boot-command", "boot.sh"}, "--boot-command boot.sh: the path must be absolute"},
		{[]string{"--delete-command", "/nowhere"}, "--delete-command /nowhere"},
		{[]string{"--boot-command", "/etc/passwd"}, "not an executable file"},
		{[]string{"--template", "a3"}, "--template a3: write it NAME=MACHINETYPE"},
		{[]string{"--template", "a3=x@mars"}, `unknown region "mars"`},
		{[]string{"--switches", `{"lateRefusal":true}`}, `--switches {"lateRefusal":true}: unknown field "lateRefusal"`},
		{[]string{"--switches", `{"lateRefusals":1}`}, `"lateRefusals" must be true or false`},
		{[]string{"--boot-time", "soon"}, `--boot-time does not take "soon"; see --help`},
		{[]string{"--capacity", "many"}, `--capacity does not take "many"; see --help`},
		{[]string{"--bot-time", "5s"}, "unknown flag: --bot-time; see --help"},
		{[]string{"up"}, "slurmflex-fakegce takes only flags"},
	} {
		cmd := New()
		cmd.SetArgs(append([]string{"--listen", "127.0.0.1:0"}, c.args...))
		err := cmd.ExecuteContext(t.Context())
		if assert.Error(t, err, c.says) {
			assert.Contains(t, err.Error(), c.says)
			assert.NotContains(t, err.Error(), "\n")
			assert.Equal(t, 2, ExitCode(err))
		}
	}
	cmd := New()
	cmd.SetArgs([]string{"--listen", "127.0.0.1:99999"})
	err := cmd.ExecuteContext(t.Context())
	require.Error(t, err)
	assert.Equal(t, 1, ExitCode(err))
	assert.Contains(t, err.Error(), "choose another address with --listen")
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

func TestInvalidTranscriptFileIsAUsageError(t *testing.T) {
	cmd := New()
	cmd.SetArgs([]string{"--compare", "/etc/hostname"})
	err := cmd.ExecuteContext(t.Context())
	require.ErrorContains(t, err, "--compare /etc/hostname: line 1: ")
	assert.Equal(t, 2, ExitCode(err))
}
