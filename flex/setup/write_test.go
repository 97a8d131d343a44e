package setup

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/slurm"
	"slurmflex/test/scenetest"
)

// keep_idle is shorter than the first machine of a job may have to wait for the last.
func TestWrittenSuspendTimeIsLongEnoughForPendingJobs(t *testing.T) {
	cfg := scenetest.Cluster("partitions: {train: {enable_job_exclusive: true, partition_nodeset: [a3]}}",
		scenetest.FlexSet("a3", "us-central1-a", "node_count_dynamic_max: 8, node_conf: {CPUs: 4, RealMemory: 1000}", "keep_idle: 60, on_lease_end: requeue"))
	text, err := textOf(Input{Config: cfg, Version: slurm.Version{Major: 24, Minor: 11}, Programs: "/x"})
	require.NoError(t, err)
	assert.Contains(t, text, "PartitionName=train")
	assert.Contains(t, text, " SuspendTime=300 MaxTime=UNLIMITED\n")
}

// A Gres of a kind that GresTypes lacks cannot be requested.
func TestGresTypesContainAllKindsOfNodeConf(t *testing.T) {
	for gres, want := range map[string][]string{
		"gpu:8,shard:64,nvme:2": {"\nGresTypes=gpu,nvme,shard\n", "\n# For gres.conf (add your own lines for nvme, shard):\n# NodeName=alpha-a3-[0-7] Name=gpu File=/dev/nvidia[0-7]\n"},
		"shard:64":              {"\nGresTypes=shard\n", "\n# For gres.conf (add your own lines for shard):\n"},
		"gpu":                   {"\nGresTypes=gpu\n", "\n# For gres.conf:\n# NodeName=alpha-a3-[0-7] Name=gpu File=/dev/nvidia0\n"},
		"gpu:l4:1":              {"\nGresTypes=gpu\n", "\n# For gres.conf:\n# NodeName=alpha-a3-[0-7] Name=gpu Type=l4 File=/dev/nvidia0\n"},
	} {
		cfg := scenetest.Cluster("partitions: {train: {enable_job_exclusive: true, partition_nodeset: [a3]}}",
			scenetest.FlexSet("a3", "us-central1-a", "node_count_dynamic_max: 8, node_conf: {CPUs: 4, RealMemory: 1000, Gres: '"+gres+"'}", ""))
		text, err := textOf(Input{Config: cfg, Version: slurm.Version{Major: 24, Minor: 11}, Programs: "/x"})
		require.NoError(t, err)
		for _, part := range want {
			assert.Contains(t, text, part, gres)
		}
	}
}
