package lab

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"text/template"
)

// The cluster has two exclusive partitions of flex nodes, whose leases follow
// the job's TimeLimit (train) and the nodeset's maximum (fixed), one of
// ordinary nodes that are not ours, and one for each further nodeset.
const slurmConf = `ClusterName=alpha
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
ReturnToService=2
SlurmdTimeout=30
SlurmctldDebug=debug
DebugFlags=Power
SchedulerParameters=bf_interval=2,sched_interval=2,salloc_wait_nodes
# --- the part that slurmflex needs ---
ResumeProgram={{.Resume}}
SuspendProgram={{.Suspend}}
ResumeFailProgram={{.ResumeFail}}
ResumeTimeout={{.ResumeTimeout}}
SuspendTimeout=5
SuspendTime=600
ResumeRate={{.ResumeRate}}
SuspendRate=0
SlurmctldParameters=idle_on_node_suspend,cloud_dns,power_save_interval=1
{{- if .Old}}
PrivateData=cloud
{{- end}}
NodeName=alpha-a3-[0-7] NodeAddr=127.0.0.1 Port=[{{.Port1}}-{{.Port1End}}] CPUs=2 State=CLOUD
NodeName=alpha-g2-[0-3] NodeAddr=127.0.0.1 Port=[{{.Port2}}-{{.Port2End}}] CPUs=2 State=CLOUD
NodeName=alpha-cpu-[0-1] NodeAddr=127.0.0.1 Port=[{{.Port3}}-{{.Port3End}}] CPUs=2 State=CLOUD
PartitionName=train Nodes=alpha-a3-[0-7] OverSubscribe=EXCLUSIVE{{.PowerDown}} MaxTime=INFINITE State=UP Default=YES
PartitionName=fixed Nodes=alpha-g2-[0-3] OverSubscribe=EXCLUSIVE{{.PowerDown}} MaxTime=INFINITE State=UP
PartitionName=open Nodes=alpha-g2-[0-3] MaxTime=INFINITE State=UP
PartitionName=cpu Nodes=alpha-cpu-[0-1] State=UP
{{- if .Static}}
NodeName=alpha-st-[0-1] NodeAddr=127.0.0.1 Port=[{{.Port4}}-{{.Port4End}}] CPUs=2 State=CLOUD
PartitionName=static Nodes=alpha-st-[0-1] State=UP
SuspendExcNodes=alpha-st-[0-1]
{{- end}}
{{- range .More}}
NodeName=alpha-{{.Name}}-[0-{{.Last}}] NodeAddr=127.0.0.1 Port={{.Ports}} CPUs=2 State=CLOUD
PartitionName={{.Name}} Nodes=alpha-{{.Name}}-[0-{{.Last}}]{{if not .Shared}} OverSubscribe=EXCLUSIVE{{$.PowerDown}}{{end}} MaxTime=INFINITE State=UP
{{- end}}
`

const configYAML = `slurm_cluster_name: alpha
project: demo
slurm_log_dir: {{.Dir}}/log
partitions:
  train: {partition_name: train, enable_job_exclusive: true, partition_nodeset: [a3]}
  fixed: {partition_name: fixed, enable_job_exclusive: true, partition_nodeset: [g2]}
  open: {partition_name: open, partition_nodeset: [g2]}
  cpu: {partition_name: cpu, partition_nodeset: [cpu]}
{{- range .More}}
  {{.Name}}: {partition_name: {{.Name}}, enable_job_exclusive: {{not .Shared}}, partition_nodeset: [{{.Name}}]}
{{- end}}
nodeset:
  a3:
    nodeset_name: a3
    node_count_dynamic_max: 8
    instance_template: projects/demo/regions/us-central1/instanceTemplates/a3
    subnetwork: projects/demo/regions/us-central1/subnetworks/default
    zone_policy_allow: [us-central1-a, us-central1-b]
    dws_flex: { {{- with .FlexKeys}}{{.}}, {{end -}} use_job_duration: true}
  g2:
    nodeset_name: g2
    node_count_dynamic_max: 4
    instance_template: projects/demo/regions/us-central1/instanceTemplates/g2
    subnetwork: projects/demo/regions/us-central1/subnetworks/default
    zone_policy_allow: [us-central1-a]
    dws_flex: { {{- with .FlexKeys}}{{.}}, {{end -}} max_run_duration: 3600}
{{- if .Static}}
  st:
    nodeset_name: st
    node_count_static: {{.Static}}
    instance_template: projects/demo/regions/us-central1/instanceTemplates/g2
    subnetwork: projects/demo/regions/us-central1/subnetworks/default
    zone_policy_allow: [us-central1-a]
    dws_flex: { {{- with .FlexKeys}}{{.}}, {{end -}} max_run_duration: 3600}
{{- end}}
{{- range .More}}
  {{.Name}}:
    nodeset_name: {{.Name}}
    node_count_dynamic_max: {{.Size}}
    instance_template: projects/demo/regions/us-central1/instanceTemplates/{{.Name}}
    subnetwork: projects/demo/regions/us-central1/subnetworks/default
    zone_policy_allow: [us-central1-a]
{{- range .Keys}}
    {{.}}
{{- end}}
    dws_flex: { {{- .FlexKeys -}} }
{{- end}}
  cpu:
    nodeset_name: cpu
    node_count_dynamic_max: 2
    instance_template: projects/demo/global/instanceTemplates/cpu
    subnetwork: projects/demo/regions/us-central1/subnetworks/default
    zone_policy_allow: [us-central1-a]
slurmflex:
  interval: 5s
{{- with .Keys}}
  {{.}}
{{- end}}
  compute_endpoint: {{.Endpoint}}
  run_dir: {{.Dir}}/run
  http_address: {{.HTTPAddress}}
  delegate:
    resume_program: {{.Dir}}/bin/delegate
    suspend_program: {{.Dir}}/bin/delegate
`

// A VM is a slurmd, unless it is muted. It reports a fresh boot (-b), as a new
// machine would.
const bootProgram = `#!/bin/sh
echo "$1" | /usr/bin/grep -xEf {{.Dir}}/run/mute >> {{.Dir}}/log/mute.log && exit 0
export SLURM_CONF={{.Dir}}/etc/slurm.conf PATH=/usr/sbin:/usr/bin:/sbin:/bin
exec slurmd -N "$1" -b
`

const deleteProgram = `#!/bin/sh
PATH=/usr/bin:/bin
pid=$(cat "{{.Dir}}/run/slurmd-$1.pid" 2>/dev/null) && kill -KILL "$pid"
rm -f "{{.Dir}}/run/slurmd-$1.pid"
`

const delegateProgram = `#!/bin/sh
echo "$0 $1" >> {{.Dir}}/log/delegate.log
`

const noProgram = `#!/bin/sh
exit 0
`

type fileData struct {
	*Lab
	Host, Endpoint              string
	Port, SlurmdPort            int
	Port1, Port1End             int
	Port2, Port2End             int
	Port3, Port3End             int
	Port4, Port4End             int
	Resume, Suspend, ResumeFail string
	PowerDown                   string
	ResumeTimeout               int
	Old                         bool
	More                        []setData
}

// setData is a further nodeset.
type setData struct {
	NodeSet
	Last  int    // index of its last node
	Ports string // of its slurmds
}

// setPorts is how many slurmds a further nodeset has ports for.
const setPorts = 8

// moreSets gives each further nodeset its ports, and the nodes of one that has
// too many of them a single one.
func (l *Lab) moreSets() []setData {
	var all []setData
	for i, set := range l.NodeSets {
		first := l.port + 50 + setPorts*i
		ports := strconv.Itoa(first)
		if set.Size > 1 && set.Size <= setPorts {
			ports = fmt.Sprintf("[%d-%d]", first, first+set.Size-1)
		}
		all = append(all, setData{set, set.Size - 1, ports})
	}
	return all
}

// writeFiles writes the configuration of Slurm and of slurmflex.
func (l *Lab) writeFiles() error {
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	d := fileData{
		Lab: l, Host: strings.SplitN(host, ".", 2)[0], Endpoint: l.Endpoint,
		Port: l.port, SlurmdPort: l.port + 1,
		Port1: l.port + 10, Port1End: l.port + 17,
		Port2: l.port + 20, Port2End: l.port + 23,
		Port3: l.port + 30, Port3End: l.port + 31,
		Port4: l.port + 40, Port4End: l.port + 41,
		Resume: l.path("bin/resume"), Suspend: l.path("bin/suspend"), ResumeFail: l.path("bin/resume-fail"),
		PowerDown: " PowerDownOnIdle=YES", ResumeTimeout: l.Options.ResumeTimeout,
		Old: strings.HasPrefix(l.Version, "22.05"), More: l.moreSets(),
	}
	if d.Old {
		d.PowerDown = ""
	}
	if d.ResumeTimeout == 0 {
		d.ResumeTimeout = 300
	}
	if l.NoHooks {
		d.Resume, d.Suspend, d.ResumeFail = l.path("bin/none"), l.path("bin/none"), l.path("bin/none")
	}
	for name, text := range map[string]string{"etc/slurm.conf": slurmConf, "bin/config.yaml": configYAML} {
		if err := write(l.path(name), text, d); err != nil {
			return err
		}
	}
	if !d.Old {
		if err := os.WriteFile(l.path("etc/cgroup.conf"), []byte("CgroupPlugin=disabled\n"), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// writePrograms puts everything that others start into the cluster's bin.
func (l *Lab) writePrograms() error {
	for name, text := range map[string]string{
		"bin/boot": bootProgram, "bin/delete": deleteProgram, "bin/delegate": delegateProgram, "bin/none": noProgram,
	} {
		if err := write(l.path(name), text, fileData{Lab: l}); err != nil {
			return err
		}
	}
	programs := map[string]string{"slurmflex": filepath.Join(l.Build, "slurmflex")}
	for _, hook := range []string{"resume", "suspend", "resume-fail"} {
		programs[hook] = filepath.Join(l.Scripts, hook)
	}
	if err := l.Mute(""); err != nil {
		return err
	}
	for name, from := range programs {
		if err := copyProgram(from, l.path("bin/"+name)); err != nil {
			return err
		}
	}
	return nil
}

// Mute has the VMs of the nodes whose name fits the extended regular expression
// boot without a slurmd from now on, and no others. Those that have done so stand
// in the log mute.log.
func (l *Lab) Mute(nodes string) error {
	return os.WriteFile(l.path("run/mute"), []byte(nodes+"\n"), 0o644)
}

func write(path, text string, d fileData) error {
	var b bytes.Buffer
	if err := template.Must(template.New(filepath.Base(path)).Parse(text)).Execute(&b, d); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	mode := os.FileMode(0o644)
	if strings.HasPrefix(text, "#!") {
		mode = 0o755
	}
	return os.WriteFile(path, b.Bytes(), mode)
}
