package slurmgcp

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/config"
	"slurmflex/flex/slurmconf"
	"slurmflex/slurm"
)

// A report on a complete cluster of slurm-gcp is a golden file of cmd/slurmflex.

const allFlex = `slurm_cluster_name: hpc
project: demo
partitions:
  train: {partition_name: train, enable_job_exclusive: true, partition_nodeset: [a3]}
nodeset:
  a3:
    node_count_dynamic_max: 8
    instance_template: projects/demo/global/instanceTemplates/flex
    subnetwork: projects/demo/regions/us-central1/subnetworks/default
    zone_policy_allow: [us-central1-a]
    dws_flex: {max_run_duration: 7200}
`

func report(t *testing.T, text string, version slurm.Version) string {
	t.Helper()
	cfg, err := config.Parse("config.yaml", []byte(text))
	require.NoError(t, err)
	return Report(Cluster{Config: cfg, Version: version, Programs: "/opt/slurmflex"}, true)
}

func TestClusterWithOnlyFlexNodesNeedsNoDelegate(t *testing.T) {
	text := report(t, allFlex, slurm.Version{Major: 22, Minor: 5})
	assert.Contains(t, text, "config.yaml loads as it is. Cluster hpc: slurmflex will provision a3.\n")
	assert.Contains(t, text, "  cloud.conf: set PrivateData=cloud\n")
	assert.Contains(t, text, "set MaxTime=02:00:00 (")
	assert.NotContains(t, text, "delegate")
	assert.NotContains(t, text, "ignores")
}

func TestOnlyFlexPartitionsNeedALongResumeTimeout(t *testing.T) {
	v24 := slurm.Version{Major: 24, Minor: 11}
	assert.Contains(t, report(t, allFlex, v24), "  cloud.conf: PartitionName=train: set ResumeTimeout=65533 (is not set, which means 60 s)")
	cluster := allFlex + "cloud_parameters: {resume_timeout: 300}\n"
	assert.Contains(t, report(t, cluster, v24), "  cloud.conf: PartitionName=train: set ResumeTimeout=65533 (300 s is shorter than a boot")
	own := strings.Replace(cluster, "partition_nodeset: [a3]", "partition_nodeset: [a3], partition_conf: {ResumeTimeout: 65535}", 1)
	assert.NotContains(t, report(t, own, v24), "ResumeTimeout=")
}

func TestExistingDelegateIsNotRequested(t *testing.T) {
	text := report(t, allFlex+"  cpu: {node_count_dynamic_max: 1}\nslurmflex:\n  delegate: {resume_program: /r, suspend_program: /s}\n", slurm.Version{Major: 24, Minor: 11})
	assert.NotContains(t, text, "resume_program")
	assert.NotContains(t, text, "PrivateData")
}

func TestClusterWithoutFlexNodesIsReported(t *testing.T) {
	text := report(t, "slurm_cluster_name: hpc\nproject: demo\nnodeset:\n  cpu: {node_count_dynamic_max: 1}\n", slurm.Version{Major: 24, Minor: 11})
	assert.Contains(t, text, "Cluster hpc: slurmflex will provision no nodeset; slurm-gcp's scripts keep cpu.\n")
}

// A8: 26.05 has Exclusive=NODE instead of OverSubscribe=EXCLUSIVE.
func TestExclusivePartitionGetsTheKeyOfItsSlurm(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cloud.conf")
	for version, advice := range map[slurm.Version]map[string]string{
		{Major: 25, Minor: 11}: {"OverSubscribe=EXCLUSIVE": "", "OverSubscribe=NO": "add OverSubscribe=EXCLUSIVE"},
		{Major: 26, Minor: 5}:  {"Exclusive=NODE": "", "OverSubscribe=EXCLUSIVE": "add Exclusive=NODE", "Exclusive=NO": "add Exclusive=NODE"},
	} {
		for line, want := range advice {
			require.NoError(t, os.WriteFile(path, []byte("PartitionName=train "+line+"\n"), 0o600))
			conf, err := slurmconf.Read(path)
			require.NoError(t, err)
			cfg, err := config.Parse("config.yaml", []byte(allFlex))
			require.NoError(t, err)
			got := Cluster{Config: cfg, Version: version, SlurmConf: conf}.partition(cfg.Partitions[0])
			if want == "" {
				assert.NotContains(t, got, "add Exclusive", line)
				assert.NotContains(t, got, "add OverSubscribe", line)
			} else {
				assert.Contains(t, got, path+":1: PartitionName=train: ", line)
				assert.Contains(t, got, want, line)
			}
		}
	}
}

func TestDelegateIsNeverSlurmflexItself(t *testing.T) {
	path := filepath.Join(t.TempDir(), "slurm.conf")
	require.NoError(t, os.WriteFile(path, []byte("ResumeProgram=/slurm/scripts/resume_wrapper.sh\nSuspendProgram=/slurm/scripts/suspend_wrapper.sh\n"+
		"ResumeProgram=/opt/slurmflex/resume\nSuspendProgram=/opt/slurmflex/suspend\n"), 0o600))
	conf, err := slurmconf.Read(path)
	require.NoError(t, err)
	cfg, err := config.Parse("config.yaml", []byte(allFlex+"  cpu: {node_count_dynamic_max: 1}\n"))
	require.NoError(t, err)
	text := Report(Cluster{Config: cfg, Version: slurm.Version{Major: 24, Minor: 11}, SlurmConf: conf, Programs: "/opt/slurmflex"}, false)
	assert.NotContains(t, text, "resume_program: /opt/slurmflex/resume")
	assert.Contains(t, text, "resume_program: /slurm/scripts/resume_wrapper.sh")
}

func TestPartitionConfIsWhatSlurmGCPWrites(t *testing.T) {
	v24 := slurm.Version{Major: 24, Minor: 11}
	with := func(conf string) string {
		return report(t, strings.Replace(allFlex, "partition_nodeset: [a3]", "partition_nodeset: [a3], partition_conf: {"+conf+"}", 1), v24)
	}
	assert.Contains(t, with("ResumeTimeout: 65535"), "  cloud.conf: PartitionName=train: set MaxTime=02:00:00 (the longest that every lease covers)\n")
	assert.NotContains(t, with(`ResumeTimeout: 65535, MaxTime: "01:00:00"`), "PartitionName=train")
	assert.Contains(t, with(`ResumeTimeout: 65535, maxtime: 120, OverSubscribe: "NO", PowerDownOnIdle: "NO"`),
		"  cloud.conf: PartitionName=train: add OverSubscribe=EXCLUSIVE; add PowerDownOnIdle=YES\n")
}

// With on_lease_end: requeue, jobs may run longer than a lease.
func TestPartitionThatRequeuesJobsNeedsNoMaxTime(t *testing.T) {
	cluster := strings.Replace(allFlex, "max_run_duration: 7200", "max_run_duration: 7200, on_lease_end: requeue", 1)
	assert.NotContains(t, report(t, cluster, slurm.Version{Major: 24, Minor: 11}), "MaxTime=")
}

func TestMaxTimeBeyondTheLeaseIsALineToEdit(t *testing.T) {
	cfg, err := config.Parse("config.yaml", []byte(allFlex))
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "cloud.conf")
	for line, want := range map[string]string{
		"PartitionName=train MaxTime=UNLIMITED":                                   path + ":1: PartitionName=train: set MaxTime=02:00:00 (the longest that every lease covers)",
		"PartitionName=train MaxTime=121":                                         path + ":1: PartitionName=train: set MaxTime=02:00:00 (the longest that every lease covers)",
		"PartitionName=train MaxTime=120":                                         "",
		"PartitionName=train MaxTime=2:00:00":                                     "",
		"PartitionName=DEFAULT MaxTime=0-1\nPartitionName=train":                  "",
		"PartitionName=DEFAULT MaxTime=0-1\nPartitionName=train MaxTime=INFINITE": path + ":2: PartitionName=train: set MaxTime=02:00:00 (the longest that every lease covers)",
	} {
		others := " OverSubscribe=EXCLUSIVE PowerDownOnIdle=YES ResumeTimeout=65535 Nodes=hpc-a3-[0-7]\n"
		require.NoError(t, os.WriteFile(path, []byte(line+others), 0o600))
		conf, err := slurmconf.Read(path)
		require.NoError(t, err)
		assert.Equal(t, want, Cluster{Config: cfg, Version: slurm.Version{Major: 24, Minor: 11}, SlurmConf: conf}.partition(cfg.Partitions[0]), line)
	}
}

func TestFileWithAdditionsLoads(t *testing.T) {
	for _, own := range []string{"", "slurmflex:\n", "slurmflex:\n  interval: 10s\n", "slurmflex:\n  delegate:\n    resume_program: /r\n"} {
		text := allFlex + "  cpu: {node_count_dynamic_max: 1}\n" + own
		cfg, err := config.Parse("config.yaml", []byte(text))
		require.NoError(t, err)
		lines := Cluster{Config: cfg, keys: cfg.Keys()}.additions([]string{"cpu"})
		cfg, err = config.Parse("config.yaml", []byte(text+strings.Join(lines, "\n")+"\n"))
		require.NoError(t, err, own)
		assert.NotEmpty(t, cfg.Options.Delegate.ResumeProgram)
		assert.Equal(t, "/slurm/scripts/suspend_wrapper.sh", cfg.Options.Delegate.SuspendProgram)
	}
}
