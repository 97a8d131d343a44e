package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/slurm"
	"slurmflex/test/fakegce"
	"slurmflex/test/fakeslurm"
	"slurmflex/test/must"
)

// world is a folder with all files that slurmflex finds on a controller, dummies for Slurm's
// commands, and a fake Compute.
type world struct {
	*testing.T
	dir   string
	cloud *fakegce.Server
}

// In configText and dummy, DIR is the world's folder and ENDPOINT is Compute's address.
const configText = `slurm_cluster_name: alpha
project: demo
slurm_bin_dir: DIR/bin
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
  interval: 1h
  compute_endpoint: ENDPOINT
  run_dir: DIR/run
  log_file: DIR/log/slurmflex.log
  state_dir: DIR/history
  http_address: 127.0.0.1:0
`

// A dummy records its arguments, its SLURM_CONF, its session, its parent process, and its blocked
// signals; then it runs the test's script.
const dummy = `#!/bin/sh
echo "${0##*/} $*;$SLURM_CONF;$(cut -d' ' -f6 /proc/$$/stat);$PPID;$(sed -n 's/^SigBlk:.//p' /proc/self/status)" >>DIR/calls
. DIR/${0##*/}.answer
`

// knowing is a scontrol that accepts every update and knows only nodes. A resumed node is powered
// down immediately.
const knowing = `case "$*" in
*state=resume*) sed -i s/POWERING_DOWN/POWERED_DOWN/ DIR/nodes ;;
update*|hold*) ;;
*reservation) echo "No reservations in the system" ;;
*partition) echo "No partitions in the system" ;;
*config) printf 'Configuration data as of 2026-11-21T12:00:00\nResumeTimeout           = 300 sec\nSLURM_VERSION           = 22.05.8\nSlurmUser               = us(%s)\n' $(id -u) ;;
ping) cat DIR/controllers ;;
*"show job"*) echo "slurm_load_jobs error: Invalid job id specified" >&2; exit 1 ;;
*) cat DIR/nodes ;;
esac`

// queue is a squeue that prints the world's jobs. Slurm requeues job 812 if it loses its nodes. The
// mark stands before the first column that may hold any text.
const queue = `echo JOBID
case "$*" in
*" -O JobID:"*) mark=${6#*'|'}; test ! -s DIR/jobs || echo "812|${mark%%'|'*}|CONFIGURING|1|1|N/A|0:00|<${mark%%'|'*}>" ;;
*" -j 812 "*) echo "812|812" ;;
*) mark=${3%%'<%'*}; sed "s/MARK/${mark##*'|'}/g" DIR/jobs ;;
esac`

// newWorld returns a world without jobs, where all nodes are powered down.
func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{T: t, dir: shortDir(t), cloud: fakegce.New(fakegce.Options{Clock: slowClock{fakegce.NewWallClock()}})}
	must.Get(w.cloud.AddTemplate("us-central1", fakegce.FlexTemplate("a3", "a3-highgpu-8g")))
	require.NoError(t, os.Chmod(w.dir, 0o755)) // whatever the umask is
	for folder, mode := range map[string]os.FileMode{"bin": 0o755, "log": 0o755, "run": 0o700} {
		require.NoError(t, os.Mkdir(w.path(folder), mode))
	}
	for _, program := range []string{"bin/scontrol", "bin/squeue"} {
		w.write(program, dummy)
	}
	w.write("config.yaml", configText)
	w.serve(w.cloud)
	w.answer("scontrol", knowing)
	w.answer("squeue", queue)
	w.nodes("IDLE+CLOUD+POWERED_DOWN", 0, 7)
	w.jobs()
	w.write("controllers", "Slurmctld(primary) at ctl1 is UP\n")
	return w
}

// in returns the world for a subtest.
func (w world) in(t *testing.T) *world {
	w.T = t
	return &w
}

// shortDir returns a folder for sockets: the kernel limits a socket's path to 107 bytes.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "flex")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	return dir
}

// slowClock lags by a minute, so that resources created in the cloud are old enough for immediate
// garbage collection.
type slowClock struct{ *fakegce.WallClock }

func (c slowClock) Now() time.Time { return c.WallClock.Now().Add(-time.Minute) }

func (w *world) path(name string) string { return filepath.Join(w.dir, name) }

func (w *world) remove(name string) {
	w.Helper()
	require.NoError(w, os.Remove(w.path(name)))
}

// write writes a file, executable if it is a script. A script replaces the old file, because that
// may be running.
func (w *world) write(name, text string) {
	w.Helper()
	mode := os.FileMode(0o644)
	if strings.HasPrefix(text, "#!") {
		mode = 0o755
	}
	text = strings.ReplaceAll(text, "DIR", w.dir)
	require.NoError(w, os.WriteFile(w.path(name+".new"), []byte(text), mode))
	require.NoError(w, os.Chmod(w.path(name+".new"), mode)) // whatever the umask is
	require.NoError(w, os.Rename(w.path(name+".new"), w.path(name)))
}

// configure replaces a part of the configuration.
func (w *world) configure(old, text string) {
	w.Helper()
	b := must.Text(w.path("config.yaml"))
	require.Contains(w, b, old)
	w.write("config.yaml", strings.Replace(b, old, text, 1))
}

// serve makes the handler serve the configuration's Compute endpoint.
func (w *world) serve(compute http.Handler) {
	w.Helper()
	server := httptest.NewServer(compute)
	w.Cleanup(server.Close)
	w.configure("ENDPOINT", server.URL)
}

// answer sets a dummy's action, as a shell script.
func (w *world) answer(program, does string) {
	w.Helper()
	w.write(program+".answer", does+"\n")
}

// nodes sets the state of the nodes first to last of nodeset a3, in the format of the Slurm model.
func (w *world) nodes(state string, first, last int) {
	w.Helper()
	nodes := make([]slurm.Node, 8)
	if old, err := os.ReadFile(w.path("nodes")); err == nil {
		nodes, err = slurm.ParseNodes(old)
		require.NoError(w, err)
	}
	for i := first; i <= last; i++ {
		nodes[i].Name, nodes[i].State, nodes[i].Gres = fmt.Sprintf("alpha-a3-%d", i), slurm.ParseState(state), "gpu:h100:8"
	}
	w.write("nodes", fakeslurm.PrintNodes(nodes))
}

// jobs sets the output of squeue: id, time limit, state and nodes of each job, such as "812 2:00:00
// CONFIGURING alpha-a3-[0-1]".
func (w *world) jobs(jobs ...string) {
	w.Helper()
	var all []slurm.Job
	for _, text := range jobs {
		j := slurm.Job{
			Start: time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC), Priority: 100, Partition: "train", User: "ada", NodeCount: 2, Gres: "gres/gpu:8", Reason: "None",
		}
		var limit, nodes string
		_, err := fmt.Sscan(text, &j.ID, &limit, &j.State, &nodes)
		require.NoError(w, err)
		j.ArrayID, j.Limit = j.ID, slurm.ParseLimit(limit)
		j.Nodes, err = slurm.Expand(nodes)
		require.NoError(w, err)
		all = append(all, j)
	}
	w.write("jobs", fakeslurm.PrintJobs(all, "MARK"))
}

const poweringUp = "ALLOCATED+CLOUD+NOT_RESPONDING+POWERING_UP+POWER_DOWN"

// waiting makes job 812 wait for nodes 0 and 1, which are powering up.
func (w *world) waiting() {
	w.Helper()
	w.nodes(poweringUp, 0, 1)
	w.jobs("812 2:00:00 CONFIGURING alpha-a3-[0-1]")
}

// left returns a world with machines of nodes 0 and 1, which have no job any more.
func left(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.waiting()
	w.runs("sync")
	require.Equal(w, []string{"alpha-a3-0 RUNNING", "alpha-a3-1 RUNNING"}, w.machines())
	w.nodes("IDLE+CLOUD+POWERING_DOWN", 0, 1)
	w.jobs()
	w.remove("calls")
	w.cloud.ResetCalls()
	return w
}

// flex prepares slurmflex with the world's configuration and Slurm's environment.
func (w *world) flex(args ...string) *process {
	w.Helper()
	return prepare(w, w.env(), os.Args[0], append([]string{"--config", w.path("config.yaml")}, args...)...)
}

// runs runs slurmflex, which must succeed.
func (w *world) runs(args ...string) *process {
	w.Helper()
	return w.flex(args...).exits(exitDone)
}

// fails runs slurmflex, which must fail.
func (w *world) fails(args ...string) *process {
	w.Helper()
	return w.flex(args...).exits(exitFailed)
}

// rejects runs slurmflex, which must reject its usage or configuration.
func (w *world) rejects(args ...string) *process {
	w.Helper()
	return w.flex(args...).exits(exitUsage)
}

// eventually waits until a condition is true.
func (w *world) eventually(is func() bool, why ...any) {
	w.Helper()
	require.Eventually(w, is, slack, poll, why...)
}

// prints returns the output of slurmflex, which must succeed.
func (w *world) prints(args ...string) string {
	w.Helper()
	return w.runs(args...).stdout.String()
}

func (w *world) env(more ...string) []string {
	return append([]string{"SLURM_CONF=" + w.path("slurm.conf")}, more...)
}

// resumeFile writes the file that Slurm 24.11 writes for job 812, and returns the environment
// variable for it.
func (w *world) resumeFile() string {
	w.Helper()
	b := must.Text("../../slurm/testdata/24.11.5/resumefile-0.json")
	w.write("resume.json", strings.NewReplacer("f[0-1]", "alpha-a3-[0-1]", `"job_id":1`, `"job_id":812`).Replace(b))
	return "SLURM_RESUME_FILE=" + w.path("resume.json")
}

// call is one run of a dummy.
type call struct {
	args, conf      string
	session, caller string // process ids
	blocked         string // signals, in hex
}

// calls returns the dummies' runs so far.
func (w *world) calls() []call {
	w.Helper()
	b, err := os.ReadFile(w.path("calls"))
	if os.IsNotExist(err) {
		return nil
	}
	require.NoError(w, err)
	var calls []call
	for line := range strings.Lines(string(b)) {
		f := strings.Split(strings.TrimSpace(line), ";")
		// A reason may contain a semicolon.
		args, rest := strings.Join(f[:len(f)-4], ";"), f[len(f)-4:]
		calls = append(calls, call{args, rest[0], rest[1], rest[2], rest[3]})
	}
	return calls
}

// updates returns the changes requested from scontrol.
func (w *world) updates() []string {
	w.Helper()
	var updates []string
	for _, c := range w.calls() {
		if change, ok := strings.CutPrefix(c.args, "scontrol update "); ok {
			updates = append(updates, change)
		}
	}
	return updates
}

// logged asserts that the log has one entry of this level, and that it contains the words.
func (w *world) logged(level string, words ...string) {
	w.Helper()
	require.Len(w, w.log(level), 1)
	contains(w, w.log(level)[0], words...)
}

// log returns the log file's entries of this level and asserts that each line is one entry.
func (w *world) log(level string) []string {
	w.Helper()
	b, err := os.ReadFile(w.path("log/slurmflex.log"))
	if os.IsNotExist(err) {
		return nil
	}
	require.NoError(w, err)
	var entries []string
	lines := bufio.NewScanner(bytes.NewReader(b))
	for lines.Scan() {
		var entry struct{ Level string }
		require.NoError(w, json.Unmarshal(lines.Bytes(), &entry), "%s", lines.Text())
		if entry.Level == level {
			entries = append(entries, lines.Text())
		}
	}
	return entries
}

// machines returns the cloud's instances with their status.
func (w *world) machines() []string {
	var machines []string
	for _, v := range w.cloud.State().Instances {
		machines = append(machines, v.Name+" "+v.Status)
	}
	return machines
}

// changes returns the calls so far that could change the cloud.
func (w *world) changes() []string {
	var changes []string
	for _, c := range w.cloud.Calls() {
		if c.Verb != http.MethodGet && !strings.HasSuffix(c.Method, ".wait") && !strings.HasSuffix(c.Method, ".listManagedInstances") {
			changes = append(changes, c.Method)
		}
	}
	return changes
}

// assertUntouched asserts that neither the cloud nor Slurm was changed.
func (w *world) assertUntouched() {
	w.Helper()
	assert.Empty(w, w.changes())
	assert.Empty(w, w.updates())
}
