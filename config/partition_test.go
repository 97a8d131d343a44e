package config

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const mixed = `
slurm_cluster_name: hpc
project: example-project
partitions:
  both: {partition_nodeset: [long, cpu, short]}
  long: {partition_nodeset: [long]}
  cpu: {partition_nodeset: [cpu]}
nodeset:
  cpu: {node_count_static: 3}
  long:
    node_count_dynamic_max: 2
    instance_template: &template projects/p/global/instanceTemplates/a3
    subnetwork: &subnet projects/p/regions/us-central1/subnetworks/default
    zone_policy_allow: &zones [us-central1-a]
    dws_flex: {use_job_duration: true, job_duration_margin: 90}
  short:
    node_count_dynamic_max: 2
    instance_template: *template
    subnetwork: *subnet
    zone_policy_allow: *zones
    dws_flex: {max_run_duration: 7200}
`

func partition(t *testing.T, c *Config, name string) Partition {
	t.Helper()
	p, ok := c.Partition(name)
	require.True(t, ok)
	return *p
}

func TestPartitionListsAllItsNodesets(t *testing.T) {
	c := parse(t, mixed)
	assert.Equal(t, []*NodeSet{nodeSet(t, c, "cpu"), nodeSet(t, c, "long"), nodeSet(t, c, "short")}, c.SetsOf(partition(t, c, "both")))
	assert.Equal(t, []*NodeSet{nodeSet(t, c, "cpu")}, c.SetsOf(partition(t, c, "cpu")))
}

// A partition with several nodesets keeps its jobs from waiting pending.
func TestNodeSetNamedTwiceIsOneNodeSet(t *testing.T) {
	assert.Equal(t, []string{"long"}, partition(t, parse(t, strings.Replace(mixed, "[long]", "[long, long]", 1)), "long").NodeSets)
}

func TestLongestJobFitsEveryLeaseOfThePartition(t *testing.T) {
	c := parse(t, mixed)
	assert.Equal(t, 2*time.Hour, c.LongestJob(partition(t, c, "both")), "the shortest of its nodesets")
	assert.Equal(t, 7*24*time.Hour-2*time.Minute, c.LongestJob(partition(t, c, "long")), "the margin goes off, in whole minutes")
	assert.Zero(t, c.LongestJob(partition(t, c, "cpu")))
}
