package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"slurmflex/test/fakegce"
	"slurmflex/test/must"
)

// beProgram makes the test binary run as slurmflex-trial.
const beProgram = "SLURMFLEX_TRIAL_TEST_PROGRAM=1"

func TestMain(m *testing.M) {
	if slices.Contains(os.Environ(), beProgram) {
		syscall.Exit(run()) // os.Exit of a race-detecting binary takes a second
	}
	os.Exit(m.Run())
}

const configText = `slurm_cluster_name: alpha
project: demo
partitions:
  train: {partition_name: train, enable_job_exclusive: true, partition_nodeset: [a3]}
nodeset:
  a3:
    nodeset_name: a3
    node_count_dynamic_max: 8
    instance_template: projects/demo/regions/us-central1/instanceTemplates/a3
    subnetwork: projects/demo/regions/us-central1/subnetworks/default
    zone_policy_allow: [us-central1-a, us-central1-b]
    dws_flex: {use_job_duration: true}
slurmflex:
  compute_endpoint: %s
`

// process is a trial on a fake Compute.
type process struct {
	*exec.Cmd
	stdout, stderr bytes.Buffer
	cloud          *fakegce.Server
	come, on       chan struct{}
}

// start starts a trial behind these words of a shell, if any. It returns when the trial lists its
// running machine; the list is held until goOn.
func start(t *testing.T, unread bool, shell ...string) (p *process, goOn func()) {
	t.Helper()
	p = &process{cloud: fakegce.New(fakegce.Options{}), come: make(chan struct{}), on: make(chan struct{})}
	must.Get(p.cloud.AddTemplate("us-central1", fakegce.FlexTemplate("a3", "a3-highgpu-8g")))
	var once sync.Once
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/instances") && r.Method == http.MethodGet && p.machineRuns() {
			once.Do(func() { close(p.come); <-p.on })
		}
		p.cloud.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	goOn = sync.OnceFunc(func() { close(p.on) })
	t.Cleanup(goOn)
	config := filepath.Join(t.TempDir(), "config.yaml")
	require.NoError(t, os.WriteFile(config, fmt.Appendf(nil, configText, server.URL), 0o600))
	args := slices.Concat(shell, []string{os.Args[0], "--config", config, "--nodeset", "a3", "--yes"})
	p.Cmd = exec.CommandContext(t.Context(), args[0], args[1:]...)
	p.Env = []string{beProgram}
	p.Stdout, p.Stderr = &p.stdout, &p.stderr
	if unread {
		reader, writer, err := os.Pipe()
		require.NoError(t, err)
		p.Stdout, p.Stderr = writer, writer
		defer writer.Close()
		defer reader.Close()
	}
	require.NoError(t, p.Start())
	select {
	case <-p.come:
	case <-time.After(time.Minute):
		require.Fail(t, "the call has not come")
	}
	return p, goOn
}

func (p *process) machineRuns() bool {
	for _, in := range p.cloud.State().Instances {
		if in.Status == "RUNNING" {
			return true
		}
	}
	return false
}

// fails waits until the trial has failed, and checks that it has left nothing.
func (p *process) fails(t *testing.T) {
	t.Helper()
	_ = p.Wait()
	require.Equal(t, 1, p.ProcessState.ExitCode(), "%s\n%s", &p.stdout, &p.stderr)
	state := p.cloud.State()
	assert.Empty(t, state.Groups)
	assert.Empty(t, state.Policies)
	assert.Empty(t, state.Instances)
}

// Control-C also ends tee, and a closed terminal accepts no more output: a failed write must not
// end a trial before it has deleted everything.
func TestInterruptedTrialWithClosedOutputCleansUp(t *testing.T) {
	for _, s := range []syscall.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGHUP} {
		t.Run(unix.SignalName(s), func(t *testing.T) {
			t.Parallel()
			trial, goOn := start(t, true)
			require.NoError(t, trial.Process.Signal(s))
			goOn()
			trial.fails(t)
		})
	}
}

func TestTrialUnderNohupSurvivesAClosedTerminal(t *testing.T) {
	trial, goOn := start(t, false, "/bin/sh", "-c", `trap "" HUP; exec "$0" "$@"`)
	require.NoError(t, trial.Process.Signal(unix.SIGHUP))
	goOn()
	require.NoError(t, trial.Wait(), &trial.stderr)
	assert.Regexp(t, ` checks passed, 0 failed; left behind: nothing\n$`, trial.stdout.String())
}

func TestWrongUsageExitsWith2(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), os.Args[0], "--nodeset", "a3", "--config", "/nowhere")
	cmd.Env = []string{beProgram}
	out, err := cmd.CombinedOutput()
	require.Error(t, err)
	assert.Equal(t, 2, cmd.ProcessState.ExitCode())
	assert.Regexp(t, `^slurmflex-trial: .*/nowhere.*\n$`, string(out))
}
