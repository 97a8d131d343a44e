package setup

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"slurmflex/config"
	"slurmflex/mig/gce"
	"slurmflex/slurm"
	"slurmflex/slurm/scontrol"
	"slurmflex/test/fakegce"
	"slurmflex/test/fakeslurm"
	"slurmflex/test/must"
)

// site is everything that a check reads: the files of a controller, dummies for Slurm's commands, and
// a fake Compute.
type site struct {
	t       *testing.T
	dir     string
	compute *fakegce.Server
}

// In configText, DIR is the site's folder and ENDPOINT is Compute's address.
const configText = `slurm_cluster_name: alpha
project: demo
slurm_bin_dir: DIR/bin
# a controller's file
partitions:
  train: {partition_name: train, enable_job_exclusive: true, partition_nodeset: [a3]}
nodeset:
  a3:
    nodeset_name: a3
    node_count_dynamic_max: 8
    instance_template: projects/demo/regions/us-central1/instanceTemplates/a3
    subnetwork: projects/demo/regions/us-central1/subnetworks/default
    zone_policy_allow: [us-central1-a, us-central1-b]
    dws_flex: {use_job_duration: true, job_duration_margin: 600}
slurmflex:
  interval: 1h
  compute_endpoint: ENDPOINT
  run_dir: DIR/run
  state_dir: DIR/history
  http_address: 127.0.0.1:0
`

// liveSite returns a site where Slurm and Compute are set up correctly for the configuration.
// Slurm's output is that of a real Slurm of the given version, with our nodes and programs added.
func liveSite(t *testing.T, version string) *site {
	t.Helper()
	w := &site{t: t, dir: t.TempDir(), compute: fakegce.New(fakegce.Options{})}
	must.Get(w.compute.AddTemplate("us-central1", fakegce.FlexTemplate("a3", "a3-highgpu-8g")))
	require.NoError(t, os.Chmod(w.dir, 0o755)) // whatever the umask is
	require.NoError(t, os.Mkdir(w.path("bin"), 0o755))
	w.write("config.yaml", strings.Replace(configText, "ENDPOINT", "http://127.0.0.1:1", 1))
	w.nodes("IDLE+CLOUD+POWERED_DOWN")
	for _, program := range []string{"resume", "suspend", "resume-fail"} {
		w.write("bin/"+program, must.Text("../../scripts/"+program))
	}
	w.write("config.txt", strings.NewReplacer(
		"/var/lib/slurm-lab/etc/resume.sh", "DIR/bin/resume",
		"SuspendProgram          = /var/lib/slurm-lab/etc/suspend.sh", "SuspendProgram          = DIR/bin/suspend",
		"ResumeFailProgram       = /var/lib/slurm-lab/etc/suspend.sh", "ResumeFailProgram       = DIR/bin/resume-fail",
		"/var/lib/slurm-lab/etc/slurm.conf", "DIR/slurm.conf",
		"ResumeTimeout           = 60 sec", "ResumeTimeout           = 65533 sec",
		"SuspendTimeout          = 5 sec", "SuspendTimeout          = 300 sec",
		"SuspendTime             = 20 sec", "SuspendTime             = 300 sec",
		"bf_interval=5,sched_interval=5,salloc_wait_nodes", "bf_interval=5,bf_window=11520",
		"= root(0)", "= us("+strconv.Itoa(os.Geteuid())+")",
	).Replace(realSlurm(t, version, "config.txt")))
	w.write("partitions.txt", strings.NewReplacer(
		"PartitionName=flex ", "PartitionName=train ", "Nodes=f[0-7]", "Nodes=alpha-a3-[0-7]",
		"MaxTime=UNLIMITED", "MaxTime=6-23:50:00", "DefaultTime=NONE", "DefaultTime=01:00:00", "PowerDownOnIdle=NO", "PowerDownOnIdle=YES",
	).Replace(realSlurm(t, version, "partitions.txt")))
	w.write("version.txt", realSlurm(t, version, "version.txt"))
	w.write("slurm.conf", `ClusterName=alpha
ResumeProgram=DIR/bin/resume
SuspendProgram=DIR/bin/suspend
ResumeFailProgram=DIR/bin/resume-fail
ResumeTimeout=65533
SuspendTime=300
ResumeRate=0
SuspendRate=0
NodeName=alpha-a3-[0-7] CPUs=2 State=CLOUD
PartitionName=train Nodes=alpha-a3-[0-7] OverSubscribe=EXCLUSIVE
`)
	w.write("accounts", realSlurm(t, "24.11.5", "16-assoc-mgr.txt"))
	w.write("bin/squeue", "#!/bin/sh\necho JOBID\n")
	w.write("bin/scontrol", `#!/bin/sh
case "$*" in
*assoc,qos) cat DIR/accounts ;;
*config) cat DIR/config.txt ;;
*partition) cat DIR/partitions.txt ;;
*reservation) echo "No reservations in the system" ;;
-V) cat DIR/version.txt ;;
*nodes) cat DIR/nodes ;;
esac
`)
	return w
}

func realSlurm(t *testing.T, version, name string) string {
	t.Helper()
	return must.Text("../../slurm/testdata/" + version + "/" + name)
}

func (w *site) path(name string) string { return filepath.Join(w.dir, name) }

// write writes a file, executable if it is a script.
func (w *site) write(name, text string) {
	w.t.Helper()
	mode := os.FileMode(0o644)
	if strings.HasPrefix(text, "#!") {
		mode = 0o755
	}
	require.NoError(w.t, os.WriteFile(w.path(name), []byte(strings.ReplaceAll(text, "DIR", w.dir)), mode))
	require.NoError(w.t, os.Chmod(w.path(name), mode)) // whatever the umask is
}

// nodes sets the state of all nodes of nodeset a3, in the format of the Slurm model.
func (w *site) nodes(state string) {
	w.t.Helper()
	nodes := make([]slurm.Node, 8)
	for i := range nodes {
		nodes[i].Name, nodes[i].State, nodes[i].Gres = fmt.Sprintf("alpha-a3-%d", i), slurm.ParseState(state), "gpu:h100:8"
	}
	w.write("nodes", fakeslurm.PrintNodes(nodes))
}

// configure replaces a part of the configuration.
func (w *site) configure(old, text string) {
	w.t.Helper()
	w.change("config.yaml", old, text)
}

// change replaces a part of a file of the site. The part must exist.
func (w *site) change(name, old, text string) {
	w.t.Helper()
	before := must.Text(w.path(name))
	old, text = strings.ReplaceAll(old, "DIR", w.dir), strings.ReplaceAll(text, "DIR", w.dir)
	require.Contains(w.t, before, old)
	w.write(name, strings.Replace(before, old, text, 1))
}

// set changes a setting in the output of scontrol show config.
func (w *site) set(key, old, value string) {
	w.t.Helper()
	pad := strings.Repeat(" ", max(0, 24-len(key)))
	w.change("config.txt", key+pad+"= "+old+"\n", key+pad+"= "+value+"\n")
}

// report checks the site like slurmflex config check --live.
func (w *site) report() Report {
	w.t.Helper()
	cfg, err := config.Load(w.path("config.yaml"))
	require.NoError(w.t, err)
	compute, noCompute := gce.New(w.t.Context(), gce.Options{
		Project: cfg.Project, Endpoint: cfg.Options.ComputeEndpoint, CredentialsFile: cfg.CredentialsFile, Transport: w.compute.Transport(),
	})
	if noCompute == nil {
		defer compute.Close()
	}
	report, err := CheckLive(w.t.Context(), w.path("config.yaml"), cfg, nil, &scontrol.Client{BinDir: cfg.SlurmBinDir}, compute, noCompute)
	require.NoError(w.t, err)
	return report
}

// within removes the site's folder from a text.
func (w *site) within(text string) string { return strings.ReplaceAll(text, w.dir+"/", "") }
