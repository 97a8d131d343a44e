package lab

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"text/template"

	"golang.org/x/sys/unix"

	"slurmflex/slurm"
	"slurmflex/test/must"
)

// topConf is the part of slurm.conf that slurmflex does not write, up to the mark where the output
// of slurmflex config slurm-conf is inserted. With config_overrides, nodes have the configured
// resources instead of this machine's.
const topConf = `ClusterName=alpha
SlurmctldHost={{.Host}}(127.0.0.1)
SlurmUser={{or .User "root"}}
SlurmdUser=root
AuthType=auth/none
CredType=cred/none
StateSaveLocation={{.Dir}}/state
SlurmdSpoolDir={{.Dir}}/spool/%n
SlurmctldPidFile={{.Dir}}/state/ctld.pid
SlurmdPidFile={{.Dir}}/run/slurmd-%n.pid
SlurmctldLogFile={{.Dir}}/log/slurmctld.log
SlurmdLogFile={{.Dir}}/log/slurmd-%n.log
SlurmctldPort={{.Port}}
SlurmdPort={{.SlurmdPort}}
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MpiDefault=none
SlurmdTimeout=30
SlurmctldDebug=debug
DebugFlags=Power
SchedulerParameters=bf_interval={{or .Backfill 2}},sched_interval=2,salloc_wait_nodes
Licenses=lic:1
SlurmdParameters=config_overrides
{{- if .HealthCheck}}
HealthCheckProgram={{.Dir}}/bin/health-check
HealthCheckInterval={{.HealthCheck}}
{{- end}}

# --- what slurmflex config slurm-conf prints ---
`

// endConf is the part of slurm.conf for the nodes that are not ours.
const endConf = `
# --- what has no node by flex-start ---
NodeName=alpha-cpu-[0-1] NodeAddr=127.0.0.1 Port={{.Ports 30 2}} CPUs=2 State=CLOUD
PartitionName=cpu Nodes=alpha-cpu-[0-1] State=UP
`

// The cluster has two exclusive partitions of flex nodes with leases that follow the job's
// TimeLimit (train) or the nodeset's maximum (fixed), a shared partition (open), a partition of
// ordinary nodes that are not ours, and one partition for each further nodeset. All nodes are
// slurmds on this machine, each with its own port.
const configYAML = `slurm_cluster_name: alpha
project: demo
partitions:
  train: {partition_name: train, enable_job_exclusive: true, partition_nodeset: [a3], partition_conf: {Default: 'YES'{{if .LongJobs}}, MaxTime: UNLIMITED{{end}}}}
  fixed: {partition_name: fixed, enable_job_exclusive: true, partition_nodeset: [g2]{{template "partition" .}}}
  open: {partition_name: open, partition_nodeset: [g2]{{template "partition" .}}}
  cpu: {partition_name: cpu, partition_nodeset: [cpu]}
{{- if .Static}}
  static: {partition_name: static, partition_nodeset: [st]{{template "partition" .}}}
{{- end}}
{{- range .NodeSets}}
  {{.Name}}: {partition_name: {{.Name}}, enable_job_exclusive: {{not .Shared}}, partition_nodeset: [{{.Name}}]{{template "partition" $}}}
{{- end}}
{{- range .Partitions}}
  {{.}}
{{- end}}
nodeset:
  a3:
    nodeset_name: a3
    node_count_dynamic_max: 8
    instance_template: projects/demo/regions/us-central1/instanceTemplates/a3
    subnetwork: projects/demo/regions/us-central1/subnetworks/default
    zone_policy_allow: [us-central1-a, us-central1-b]
    {{.NodeConf (.Ports 10 8) .CPUs}}
    dws_flex: { {{- with .FlexKeys}}{{.}}, {{end -}} use_job_duration: true, job_duration_margin: {{.Margin}}}
  g2:
    nodeset_name: g2
    node_count_dynamic_max: 4
    instance_template: projects/demo/regions/us-central1/instanceTemplates/g2
    subnetwork: projects/demo/regions/us-central1/subnetworks/default
    zone_policy_allow: [us-central1-a]
    {{.NodeConf (.Ports 20 4) .CPUs}}
    dws_flex: { {{- with .FlexKeys}}{{.}}, {{end -}} max_run_duration: 3600}
{{- if .Static}}
  st:
    nodeset_name: st
    node_count_static: {{.Static}}
    instance_template: projects/demo/regions/us-central1/instanceTemplates/g2
    subnetwork: projects/demo/regions/us-central1/subnetworks/default
    zone_policy_allow: [us-central1-a]
    {{.NodeConf (.Ports 40 .Static) .CPUs}}
    dws_flex: { {{- with .FlexKeys}}{{.}}, {{end -}} max_run_duration: 3600}
{{- end}}
{{- range $i, $set := .NodeSets}}
  {{.Name}}:
    nodeset_name: {{.Name}}
    node_count_static: {{.Static}}
    node_count_dynamic_max: {{.Dynamic}}
    instance_template: projects/demo/regions/{{or .Region "us-central1"}}/instanceTemplates/{{.Name}}
    subnetwork: projects/demo/regions/{{or .Region "us-central1"}}/subnetworks/default
    zone_policy_allow: [{{or .Region "us-central1"}}-a]
    {{$.NodeConf ($.MorePorts $i) (.CPUs $.CPUs)}}
{{- range .Keys}}
    {{.}}
{{- end}}
    {{if .Capacity}}capacity: {{.Capacity}}{{else}}dws_flex: { {{- .FlexKeys -}} }{{end}}
{{- end}}
  cpu:
    nodeset_name: cpu
    node_count_dynamic_max: 2
    instance_template: projects/demo/global/instanceTemplates/cpu
    subnetwork: projects/demo/regions/us-central1/subnetworks/default
    zone_policy_allow: [us-central1-a]
google_app_cred_path: {{.Key}}
slurmflex:
  interval: 5s
  log_file: {{.Dir}}/log/slurmflex.log
{{- if .Configuring}}
  waiting: configuring
{{- end}}
{{- with .Keys}}
  {{.}}
{{- end}}
  compute_endpoint: {{.Endpoint}}
  run_dir: {{.Dir}}/run
  state_dir: {{.Dir}}/history
  http_address: {{.HTTPAddress}}
  delegate:
    resume_program: {{.Dir}}/bin/delegate
    suspend_program: {{.Dir}}/bin/delegate
{{- define "partition"}}{{if .LongJobs}}, partition_conf: {MaxTime: UNLIMITED}{{else if .SuspendTime}}, partition_conf: {SuspendTime: {{.SuspendTime}}}{{end}}{{end}}
`

// A VM is a slurmd, unless it is muted. The slurmd reports a fresh boot (-b), as a new machine
// would.
const bootProgram = `#!/bin/sh
echo "$1" | /usr/bin/grep -xEf {{.Dir}}/run/mute >> {{.Dir}}/log/mute.log && exit 0
export SLURM_CONF={{.Dir}}/etc/slurm.conf PATH=/usr/sbin:/usr/bin:/sbin:/bin
touch "{{.Dir}}/run/boot-$1"
exec slurmd -N "$1" -b
`

// A VM that is deleted while its slurmd starts takes it along: slurmd writes its PID late.
const deleteProgram = `#!/bin/sh
PATH=/usr/bin:/bin
cd {{.Dir}}/run
for i in $(seq 30); do
  [ -e "boot-$1" ] && ! [ -s "slurmd-$1.pid" ] || break
  sleep 0.1
done
pid=$(cat "slurmd-$1.pid" 2>/dev/null) && kill -KILL "$pid"
rm -f "slurmd-$1.pid" "boot-$1"
`

const delegateProgram = `#!/bin/sh
echo "$0 $1" >> {{.Dir}}/log/delegate.log
`

const noProgram = `#!/bin/sh
exit 0
`

type fileData struct {
	*Lab
	Host             string
	Key              string // of the fake's service account
	Port, SlurmdPort int
}

// Ports returns the ports of this many slurmds, starting at offset at in the lab's window.
func (d fileData) Ports(at, nodes int) string {
	first := d.port + at
	if nodes == 1 {
		return strconv.Itoa(first)
	}
	return fmt.Sprintf("[%d-%d]", first, first+nodes-1)
}

// NodeConf returns the node_conf of a nodeset: its slurmds' ports and, unless cpus is 0, CPUs that
// replace those of the machine type.
func (d fileData) NodeConf(ports string, cpus int) string {
	conf := "NodeAddr: 127.0.0.1, Port: '" + ports + "'"
	if cpus > 0 {
		conf += fmt.Sprintf(", CPUs: %d, RealMemory: 1, Gres: ''", cpus)
	}
	return "node_conf: {" + conf + "}"
}

// setPorts is the largest number of slurmd ports of a further nodeset.
const setPorts = 16

// MorePorts returns the ports of a further nodeset's slurmds. If the nodeset has more nodes than
// ports, all nodes share one port.
func (d fileData) MorePorts(i int) string {
	at, nodes := 50, 1
	for _, set := range d.NodeSets[:i+1] {
		at += nodes
		if nodes = set.Size; nodes > setPorts {
			nodes = 1
		}
	}
	return d.Ports(at, nodes)
}

// writeFiles writes slurmflex's configuration and uses it to write Slurm's.
func (l *Lab) writeFiles(ctx context.Context) {
	host, _, _ := strings.Cut(must.Get(os.Hostname()), ".")
	d := fileData{Lab: l, Host: host, Key: l.key(), Port: l.port, SlurmdPort: l.port + 1}
	write(l.Config(), configYAML, d)
	write(l.Conf(), topConf, d) // Slurm's commands need a slurm.conf to print their version
	part := l.ownPart(ctx)
	l.writeGPUs(part)
	text := topConf + part + endConf
	if l.Accounting {
		text += accountingConf
	}
	write(l.Conf(), text, d)
	if conf := cgroupConf(l.Version); conf != "" {
		must.Do(os.WriteFile(l.path("etc/cgroup.conf"), []byte(conf), 0o644))
	}
}

// cgroupConf keeps slurmd from using the machine's cgroups. Slurm requires the setting from 24.05
// on; an older slurmd does not start with it.
func cgroupConf(v slurm.Version) string {
	if !v.AtLeast(24, 5) {
		return ""
	}
	return "CgroupPlugin=disabled\n"
}

// ownPart returns the part of slurm.conf that slurmflex prints. It replaces single values where a
// cluster on one machine, or the scenario, needs others.
func (l *Lab) ownPart(ctx context.Context) string {
	args := []string{"config", "slurm-conf"}
	if l.NoHooks {
		args = append(args, "--programs", l.path("bin/none"))
	}
	part := must.Get(l.Flex(ctx, args...))
	for _, o := range []struct {
		key   string
		value string // empty: as printed
	}{
		{"SlurmctldParameters", "idle_on_node_suspend,cloud_dns,power_save_interval=1"},
		{"ResumeTimeout", number(l.ResumeTimeout)},
		{"SuspendTimeout", number(cmp.Or(l.SuspendTimeout, 5))},
	} {
		if o.value == "" {
			continue
		}
		line := regexp.MustCompile(`(?m)^` + o.key + `=.*$`)
		if !line.MatchString(part) {
			must.Do(fmt.Errorf("slurmflex config slurm-conf does not print %s", o.key))
		}
		part = line.ReplaceAllString(part, o.key+"="+o.value)
	}
	return part
}

// gpuLine matches a commented line for gres.conf in slurmflex's output.
var gpuLine = regexp.MustCompile(`(?m)^# (NodeName=\S+ Name=gpu .*?File=)(/dev/nvidia\S+)$`)

// mostGPUs is the maximum number of GPUs per machine.
const mostGPUs = 8

// writeGPUs writes gres.conf as slurmflex prints it, with the lab's own device files, which behave
// like /dev/null.
func (l *Lab) writeGPUs(part string) {
	var conf strings.Builder
	for _, line := range gpuLine.FindAllStringSubmatch(part, -1) {
		conf.WriteString(line[1] + l.Dir + line[2] + "\n")
	}
	if conf.Len() == 0 {
		return
	}
	for n := range mostGPUs {
		must.Do(unix.Mknod(l.path(fmt.Sprint("dev/nvidia", n)), unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3))))
	}
	must.Do(os.WriteFile(l.path("etc/gres.conf"), []byte(conf.String()), 0o644))
}

// number formats a value for slurm.conf; empty for 0.
func number(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// writePrograms copies all programs that other programs start into the cluster's bin.
func (l *Lab) writePrograms(ctx context.Context) {
	for name, text := range map[string]string{
		"bin/boot": bootProgram, "bin/delete": deleteProgram, "bin/delegate": delegateProgram,
		"bin/none/resume": noProgram, "bin/none/suspend": noProgram, "bin/none/resume-fail": noProgram,
	} {
		write(l.path(name), text, fileData{Lab: l})
	}
	must.Do(l.Mute(""))
	if l.HealthCheck > 0 {
		l.writeHealthCheck()
	}
	for _, name := range []string{"slurmflex", "slurmflex-hook"} {
		must.Do(copyProgram(ctx, filepath.Join(l.Build, name), l.path("bin/"+name)))
	}
	for _, hook := range []string{"resume", "suspend", "resume-fail"} {
		must.Do(copyProgram(ctx, filepath.Join(l.Scripts, hook), l.path("bin/"+hook)))
	}
}

// writeHealthCheck writes the shipped HealthCheckProgram with a shorter limit. It runs the programs in
// the lab's etc/health.d. slurmd gives it no SLURM_CONF, and a site needs none.
func (l *Lab) writeHealthCheck() {
	text := must.Text(filepath.Join(l.Scripts, "health-check"))
	text = strings.NewReplacer("/etc/slurm/health.d", l.path("etc/health.d"), "+ 50))", "+ 5))\nexport SLURM_CONF="+l.Conf()).Replace(text)
	must.Do(os.WriteFile(l.path("bin/health-check"), []byte(text), 0o755))
	must.Do(os.Mkdir(l.path("etc/health.d"), 0o755))
}

// Check lets each node run a program of that name, a shell script, in its health check.
func (l *Lab) Check(name, script string) error {
	return os.WriteFile(l.path("etc/health.d/"+name), []byte("#!/bin/sh\n"+script), 0o755)
}

// Mute makes the VMs of nodes with names that match the extended regular expression boot without a
// slurmd from now on. All other VMs boot with a slurmd. The log mute.log lists the muted boots.
func (l *Lab) Mute(nodes string) error {
	return os.WriteFile(l.path("run/mute"), []byte(nodes+"\n"), 0o644)
}

func write(path, text string, d fileData) {
	var b bytes.Buffer
	must.Do(template.Must(template.New(filepath.Base(path)).Parse(text)).Execute(&b, d))
	mode := os.FileMode(0o644)
	if strings.HasPrefix(text, "#!") {
		mode = 0o755
	}
	must.Do(os.WriteFile(path, b.Bytes(), mode))
}
