package slurmconf

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
		scenetest.FlexSet("a3", "us-central1-a", "node_count_dynamic_max: 8, node_conf: {CPUs: 4, RealMemory: 1000}", "keep_idle: 60"))
	text, err := Text(Input{Config: cfg, Version: slurm.Version{Major: 24, Minor: 11}, Programs: "/x"})
	require.NoError(t, err)
	assert.Contains(t, text, "PartitionName=train")
	assert.Contains(t, text, " SuspendTime=300 ")
}
