package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"slurmflex/flex/wake"
	"slurmflex/test/must"
)

// beProgram in the environment makes the test binary run as slurmflex-hook.
const beProgram = "SLURMFLEX_HOOK_RUN_MAIN=1"

func TestMain(m *testing.M) {
	if slices.Contains(os.Environ(), beProgram) {
		main()
		syscall.Exit(0) // os.Exit of a race-detecting binary takes a second
	}
	os.Exit(m.Run())
}

// world is a folder with the files that the hook finds on a controller: the configuration of a
// cluster with flex nodes alpha-a3-[0-7] and other nodes alpha-cpu-[0-1], and a dummy slurmflex
// next to the hook.
type world struct {
	t   *testing.T
	dir string
}

const configText = `slurm_cluster_name: alpha
project: demo
nodeset:
  a3:
    nodeset_name: a3
    node_count_dynamic_max: 8
    instance_template: projects/demo/regions/us-central1/instanceTemplates/a3
    subnetwork: projects/demo/regions/us-central1/subnetworks/default
    zone_policy_allow: [us-central1-a]
    dws_flex: {use_job_duration: true}
  cpu: {nodeset_name: cpu, node_count_dynamic_max: 2}
slurmflex: {run_dir: DIR/run, log_file: DIR/log/slurmflex.log}
`

// The dummy records its call and exits with 7.
const dummy = `#!/bin/sh
printf '%s\n' "$@" >DIR/arguments
tr '\0' '\n' </proc/$$/environ >DIR/environ
exit 7
`

const becameSlurmflex = 7 // the dummy's exit code

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, dir: must.Get(os.MkdirTemp("", "hook"))} // short: the kernel limits a socket's path to 107 bytes
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(w.dir)) })
	must.Do(os.Chmod(w.dir, 0o755)) // whatever the umask is
	must.Do(os.Mkdir(w.path("run"), 0o700))
	w.write("config.yaml", configText, 0o644)
	w.write("slurmflex", dummy, 0o755)
	w.write("resume.json", `{"jobs":[{"job_id":812,"nodes_resume":"alpha-a3-[0-1]"}],"all_nodes_resume":"alpha-a3-[0-1]"}`, 0o600)
	program := must.Get(os.ReadFile(must.Get(os.Executable())))
	must.Do(os.WriteFile(w.path("slurmflex-hook"), program, 0o755))
	return w
}

func (w *world) path(name string) string { return filepath.Join(w.dir, name) }

// write writes a file; DIR in the text is replaced by the world's folder.
func (w *world) write(name, text string, mode os.FileMode) {
	w.t.Helper()
	require.NoError(w.t, os.WriteFile(w.path(name), []byte(strings.ReplaceAll(text, "DIR", w.dir)), mode))
}

// listen starts a daemon that only accepts wake-ups.
func (w *world) listen() <-chan wake.Call {
	w.t.Helper()
	wakeUps, err := wake.Listen(w.t.Context(), wake.SocketPath(w.path("run")), "alpha", zap.NewNop())
	require.NoError(w.t, err)
	return wakeUps
}

// plain returns the arguments of a wrapper's call.
func (w *world) plain(verb, nodes string) []string {
	return []string{verb, "--config", w.path("config.yaml"), "--", nodes}
}

// env returns the environment of a call.
func (w *world) env() []string {
	return []string{beProgram, "SLURM_CONF=/etc/slurm/slurm.conf", "SLURM_RESUME_FILE=" + w.path("resume.json")}
}

// run runs a program in the environment and returns its exit code and its output.
func run(t *testing.T, env []string, program string, args ...string) (code int, printed string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	var out bytes.Buffer
	cmd.Env, cmd.Stdout, cmd.Stderr = env, &out, &out
	require.NoError(t, cmd.Start())
	_ = cmd.Wait() // the exit code is returned
	return cmd.ProcessState.ExitCode(), out.String()
}

// slack is how long a busy machine may delay the daemon for every hook.
const slack = time.Minute

// requireHandedOver asserts that a program succeeds without slurmflex, and returns its output. It
// repeats the run if a busy machine delays the daemon.
func (w *world) requireHandedOver(env []string, program string, args ...string) string {
	w.t.Helper()
	for begun := time.Now(); ; {
		code, printed := run(w.t, env, program, args...)
		if code == 0 {
			assert.NoFileExists(w.t, w.path("arguments"), "it became slurmflex")
			return printed
		}
		require.Less(w.t, time.Since(begun), slack, "it becomes slurmflex each time: %v: %s", w.lines("arguments"), printed)
		require.NoError(w.t, os.Remove(w.path("arguments")))
	}
}

// lines returns the lines of a file of the world.
func (w *world) lines(name string) []string {
	w.t.Helper()
	return strings.Split(strings.TrimSuffix(must.Text(w.path(name)), "\n"), "\n")
}

// requireBecomes asserts that the hook becomes slurmflex with its own arguments and environment,
// and leaves error messages to slurmflex.
func (w *world) requireBecomes(args ...string) {
	w.t.Helper()
	code, printed := run(w.t, w.env(), w.path("slurmflex-hook"), args...)
	assert.Equal(w.t, becameSlurmflex, code, args)
	assert.Empty(w.t, printed)
	require.Equal(w.t, args, w.lines("arguments"))
	assert.ElementsMatch(w.t, w.env(), w.lines("environ"))
}
