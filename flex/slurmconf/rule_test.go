package slurmconf

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/config"
	"slurmflex/slurm"
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

func alpha(t *testing.T) *config.Config {
	t.Helper()
	cfg, err := config.Parse("alpha.yaml", []byte(cluster))
	require.NoError(t, err)
	return cfg
}

func TestARuleSaysWhatIsWrongWithAValueAndWhatToWrite(t *testing.T) {
	v22, v24 := slurm.Version{Major: 22, Minor: 5}, slurm.Version{Major: 24, Minor: 11}
	for _, c := range []struct {
		version    slurm.Version
		key, value string
		wrong      string // a part of it; empty: it is right
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
			judged := false
			for _, rule := range Rules(Needs{Config: alpha(t), Version: c.version}) {
				if rule.Key != c.key {
					continue
				}
				judged = true
				wrong, write := rule.Judge(c.value)
				if c.wrong == "" {
					assert.Empty(t, wrong)
				}
				assert.Contains(t, wrong, c.wrong)
				assert.Equal(t, c.write, write)
				if write != "" {
					wrong, _ = rule.Judge(write)
					assert.Empty(t, wrong, "what is to be written is right")
				}
			}
			assert.True(t, judged)
		})
	}
}

func TestPartitionsMaySetSuspendTimeThemselves(t *testing.T) {
	for _, rule := range Rules(Needs{Config: alpha(t), PartitionsSuspend: true}) {
		if rule.Key == "SuspendTime" {
			wrong, _ := rule.Judge("INFINITE")
			assert.Empty(t, wrong)
		}
	}
}

func TestPartitionsMaySetResumeTimeoutThemselves(t *testing.T) {
	for _, rule := range Rules(Needs{Config: alpha(t), PartitionsResume: true}) {
		assert.NotEqual(t, "ResumeTimeout", rule.Key)
	}
}

func TestNodesOfAnExemptPartitionNeedNoSecondExemption(t *testing.T) {
	for _, rule := range Rules(Needs{Config: alpha(t), Exempt: []string{"alpha-a3-0", "alpha-a3-1"}}) {
		if rule.Key == "SuspendExcNodes" {
			_, write := rule.Judge("")
			assert.Equal(t, "alpha-cpu-0", write)
		}
	}
	for _, rule := range Rules(Needs{Config: alpha(t), Exempt: []string{"alpha-a3-0", "alpha-a3-1", "alpha-cpu-0"}}) {
		assert.NotEqual(t, "SuspendExcNodes", rule.Key)
	}
}

func TestOnlyOldSlurmNeedsPrivateData(t *testing.T) {
	for _, rule := range Rules(Needs{Config: alpha(t), Version: slurm.Version{Major: 23, Minor: 2}}) {
		assert.NotEqual(t, "PrivateData", rule.Key)
	}
}
