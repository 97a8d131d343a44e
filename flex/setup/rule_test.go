package setup

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/config"
	"slurmflex/mig"
	"slurmflex/slurm"
	"slurmflex/test/must"
)

const cluster = `
slurm_cluster_name: alpha
project: demo
partitions:
  train: {partition_name: train, enable_job_exclusive: true, partition_nodeset: [a3, short, cpu]}
  cpu: {partition_name: cpu, partition_nodeset: [cpu]}
nodeset:
  a3:
    nodeset_name: a3
    node_count_static: 2
    node_count_dynamic_max: 2
    instance_template: projects/demo/global/instanceTemplates/flex
    subnetwork: &subnet projects/demo/regions/us-central1/subnetworks/default
    zone_policy_allow: &zones [us-central1-a]
    dws_flex: {use_job_duration: true, job_duration_margin: 90, boot_timeout: 3600}
  short:
    nodeset_name: short
    node_count_dynamic_max: 1
    instance_template: projects/demo/global/instanceTemplates/flex
    subnetwork: *subnet
    zone_policy_allow: *zones
    dws_flex: {max_run_duration: 7200, boot_timeout: 0}
  cpu: {nodeset_name: cpu, node_count_static: 1}
`

// judgement applies the rule for a key to a value, if such a rule exists.
func judgement(n requirements, key, value string) (wrong, write string, judged bool) {
	n.Config = must.Get(config.Parse("alpha.yaml", []byte(cluster)))
	for _, rule := range rulesFor(n) {
		if rule.Key == key {
			wrong, write = rule.Judge(value)
			judged = true
		}
	}
	return wrong, write, judged
}

func TestRuleNamesTheProblemAndTheValueToSet(t *testing.T) {
	v22, v24 := slurm.Version{Major: 22, Minor: 5}, slurm.Version{Major: 24, Minor: 11}
	for _, c := range []struct {
		version    slurm.Version
		key, value string
		wrong      string // a part of the message; empty: the value is right
		write      string
	}{
		{v24, "ResumeTimeout", "65533 sec", "", ""},
		{v24, "ResumeTimeout", "3600", "", ""},
		{v24, "ResumeTimeout", "3599", "3599 s is shorter than a boot, which may take 01:00:00", "65533"},
		{v24, "ResumeTimeout", "", "is not set, which means 60 s", "65533"},
		{v24, "ResumeTimeout", "soon", `"soon" is not a number of seconds`, "65533"},
		{v24, "ResumeTimeout", "65534 sec", "Slurm does not accept 65534", "65533"},
		{v22, "ResumeTimeout", "INFINITE", "", ""},
		{v24, "ResumeTimeout", "65535 sec", "", ""},
		{v24, "SuspendTimeout", "60 sec", "", ""},
		{v24, "SuspendTimeout", "", "not set, which means 30 s, is shorter", "300"},
		{v24, "SuspendTime", "0", "", ""},
		{v24, "SuspendTime", "-1", "turns power saving off", "300"},
		{v24, "SuspendTime", "NONE", "turns power saving off", "300"},
		{v24, "ResumeRate", "0 nodes/min", "", ""},
		{v24, "ResumeRate", "", "not set, which means a limit, splits", "0"},
		{v24, "SuspendRate", "0", "", ""},
		{v24, "SuspendRate", "60", "one by one", "0"},
		{v24, "ReturnToService", "2", "", ""},
		{v24, "ReturnToService", "1", "leaves a node DOWN", "2"},
		{v24, "SlurmctldParameters", "cloud_reg_addrs,idle_on_node_suspend", "", ""},
		{v24, "SlurmctldParameters", "", "lacks idle_on_node_suspend and cloud_dns", "idle_on_node_suspend,cloud_dns"},
		{v22, "PrivateData", "jobs,cloud", "", ""},
		{v22, "PrivateData", "none", "lacks cloud", "cloud"},
		{v24, "SuspendExcNodes", "alpha-a3-[0-1],alpha-cpu-0", "", ""},
		{v24, "SuspendExcNodes", "alpha-a3-0,x9", "lacks the nodes alpha-a3-1,alpha-cpu-0,", "alpha-a3-[0-1],alpha-cpu-0,x9"},
		{v24, "SuspendExcNodes", "alpha-a3-[0-1]:1", "lacks the nodes alpha-a3-[0-1],alpha-cpu-0,", "alpha-a3-[0-1],alpha-cpu-0,alpha-a3-[0-1]:1"},
		{v24, "SuspendExcNodes", "x[1-9]:2,alpha-a3-[0-1],y:1,alpha-cpu-0", "", ""},
		{v24, "SuspendExcNodes", "", "lacks the nodes", "alpha-a3-[0-1],alpha-cpu-0"},
	} {
		t.Run(c.version.String()+" "+c.key+"="+c.value, func(t *testing.T) {
			wrong, write, judged := judgement(requirements{Version: c.version}, c.key, c.value)
			require.True(t, judged)
			assert.Contains(t, wrong, c.wrong)
			assert.Equal(t, c.wrong == "", wrong == "")
			assert.Equal(t, c.write, write)
			if write != "" {
				wrong, _, _ = judgement(requirements{Version: c.version}, c.key, write)
				assert.Empty(t, wrong, "the proposed value is right")
			}
		})
	}
}

func TestPartitionsMaySetTheirOwnTimes(t *testing.T) {
	wrong, _, _ := judgement(requirements{PartitionsSuspend: true}, "SuspendTime", "INFINITE")
	assert.Empty(t, wrong)
	_, _, judged := judgement(requirements{PartitionsResume: true}, "ResumeTimeout", "")
	assert.False(t, judged)
}

func TestNodesOfAnExemptPartitionNeedNoSecondExemption(t *testing.T) {
	_, write, _ := judgement(requirements{Exempt: []string{"alpha-a3-0", "alpha-a3-1"}}, "SuspendExcNodes", "")
	assert.Equal(t, "alpha-cpu-0", write)
	_, _, judged := judgement(requirements{Exempt: []string{"alpha-a3-0", "alpha-a3-1", "alpha-cpu-0"}}, "SuspendExcNodes", "")
	assert.False(t, judged)
}

func TestOnlyOldSlurmNeedsPrivateData(t *testing.T) {
	_, _, judged := judgement(requirements{Version: slurm.Version{Major: 23, Minor: 2}}, "PrivateData", "")
	assert.False(t, judged)
}

func TestNodeLineDescribesItsMachineType(t *testing.T) {
	for name, want := range map[string]string{
		"a2-highgpu-1g":    " CPUs=12 Sockets=1 CoresPerSocket=6 ThreadsPerCore=2 RealMemory=81817 Gres=gpu:a100:1",
		"a3-megagpu-8g":    " CPUs=208 Sockets=2 CoresPerSocket=52 ThreadsPerCore=2 RealMemory=1801912 Gres=gpu:h100:8",
		"a3-ultragpu-8g":   " CPUs=224 Sockets=2 CoresPerSocket=56 ThreadsPerCore=2 RealMemory=2841477 Gres=gpu:h200:8",
		"g2-standard-96":   " CPUs=96 Sockets=2 CoresPerSocket=24 ThreadsPerCore=2 RealMemory=369623 Gres=gpu:l4:8",
		"h4d-standard-192": " CPUs=192 Sockets=2 CoresPerSocket=96 ThreadsPerCore=1 RealMemory=693043",
	} {
		m, known := mig.KnownMachine(name)
		require.True(t, known, name)
		parameters, err := nodeParameters(&config.NodeSet{}, Machine{MachineType: m, Source: "here"})
		require.NoError(t, err)
		assert.Equal(t, want, joined(parameters), name)
	}
	parameters, err := nodeParameters(&config.NodeSet{}, Machine{MachineType: mig.MachineType{Name: "z9-4", CPUs: 4, Memory: 1000}, Source: "here"})
	require.NoError(t, err)
	assert.Equal(t, " CPUs=4 RealMemory=940", joined(parameters), "of a type with an unknown number of sockets")
}

func TestNodeConfOverridesTheMachineType(t *testing.T) {
	m, _ := mig.KnownMachine("a3-highgpu-8g")
	for want, conf := range map[string]map[string]string{
		" CPUs=104 corespersocket=52 ThreadsPerCore=1 RealMemory=1801912 Gres=gpu:h100:8":              {"CPUs": "104", "corespersocket": "52", "ThreadsPerCore": "1"},
		" CPUs=104 RealMemory=1801912 Gres=gpu:h100:8":                                                 {"CPUs": "104"},
		" CPUs=208 Sockets=2 CoresPerSocket=52 ThreadsPerCore=2 RealMemory=5 Gres=gpu:h100:8 Weight=3": {"RealMemory": "5", "Gres": "gpu:h100:8", "Weight": "3"},

		" CPUs=2 RealMemory=1801912": {"CPUs": "2", "Gres": "", "State": "FUTURE"},
	} {
		parameters, err := nodeParameters(&config.NodeSet{NodeConf: conf}, Machine{MachineType: m, Source: "here"})
		require.NoError(t, err)
		assert.Equal(t, want, joined(parameters))
	}
	_, err := nodeParameters(&config.NodeSet{Name: "x", NodeConf: map[string]string{"ThreadsPerCore": "1"}}, Machine{MachineType: m, Source: "here"})
	assert.EqualError(t, err, "nodeset x: its node_conf has some of Sockets, CoresPerSocket and ThreadsPerCore, but not CPUs; set all of them or none", "Slurm would take 1 for what is missing")
}

func TestNodeConfIsRequiredWithoutAMachineType(t *testing.T) {
	unknown := Machine{Err: errors.New("no rights")}
	_, err := nodeParameters(&config.NodeSet{Name: "a3"}, unknown)
	require.EqualError(t, err, "nodeset a3: the CPUs and memory of its nodes are unknown: no rights; set CPUs and RealMemory in nodeset.a3.node_conf, or set the machine type with --machine a3=TYPE")
	parameters, err := nodeParameters(&config.NodeSet{NodeConf: map[string]string{"CPUs": "4"}}, unknown)
	require.NoError(t, err)
	assert.Equal(t, " CPUs=4", joined(parameters))
}

func TestGPUsAreCounted(t *testing.T) {
	for gres, want := range map[string]string{
		"gpu:8": "gpu:8", "gpu:h100:4": "gpu:h100:4", "gpu:h100:8(S:0-1)": "gpu:h100:8", "shard:64,gpu:l4:1": "gpu:l4:1", "gpu:8,shard:64": "gpu:8",
		"gpu": "gpu:1", "gpu:h100": "gpu:h100:1", "gpu:a:b:1": "", "shard:8": "", "(null)": "", "": "",
	} {
		assert.Equal(t, want, gpusOf(&config.NodeSet{NodeConf: map[string]string{"gres": gres}}, mig.MachineType{GPU: "nvidia-l4", GPUs: 1}).String(), gres)
	}
	assert.Equal(t, "Name=gpu Type=l4 File=/dev/nvidia0", devices(slurm.Gres{Type: "l4", Count: 1}))
	assert.Equal(t, "Name=gpu File=/dev/nvidia[0-7]", devices(slurm.Gres{Count: 8}))
}
