package observe

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"slurmflex/config"
	"slurmflex/slurm"
	"slurmflex/test/must"
)

// alpha is a cluster with two nodesets of flex-start nodes.
const alpha = `
slurm_cluster_name: alpha
project: demo
partitions:
  train: {partition_nodeset: [a3, one]}
nodeset:
  a3: {node_count_dynamic_max: 8, instance_template: projects/demo/regions/us-central1/instanceTemplates/flex,
    subnetwork: projects/demo/regions/us-central1/subnetworks/default, zone_policy_allow: [us-central1-a],
    dws_flex: {}}
  one: {node_count_dynamic_max: 4, instance_template: projects/demo/regions/europe-west4/instanceTemplates/flex,
    subnetwork: projects/demo/regions/europe-west4/subnetworks/default, zone_policy_allow: [europe-west4-b],
    dws_flex: {}}
`

func TestShortestResumeTimeoutOfFlexNodesCounts(t *testing.T) {
	set := func(d time.Duration) slurm.Limit { return slurm.Limit{Kind: slurm.LimitSet, Duration: d} }
	unlimited, global := slurm.Limit{Kind: slurm.Unlimited}, slurm.Limit{}
	of := func(limit slurm.Limit, nodes ...string) slurm.Partition {
		return slurm.Partition{Nodes: nodes, ResumeTimeout: limit}
	}
	cfg := must.Get(config.Parse("alpha.yaml", []byte(alpha)))
	for name, c := range map[string]struct {
		cluster    slurm.Limit
		partitions []slurm.Partition
		want       time.Duration
	}{
		"the cluster's for those without":         {set(time.Hour), []slurm.Partition{of(unlimited, "alpha-a3-0"), of(global, "alpha-one-0")}, time.Hour},
		"not that of other nodes":                 {set(time.Minute), []slurm.Partition{of(set(time.Hour), "alpha-a3-0"), of(set(time.Second), "node01"), of(global, "node02")}, time.Hour},
		"the cluster's for nodes in no partition": {set(time.Hour), nil, time.Hour},
		"INFINITE, before 25.05":                  {set(time.Minute), []slurm.Partition{of(unlimited, "alpha-a3-0")}, 65_535 * time.Second},
		"no host has the setting":                 {global, []slurm.Partition{of(global, "alpha-a3-0")}, 0},
	} {
		assert.Equal(t, c.want, shortest(cfg, c.cluster, c.partitions, func(p slurm.Partition) slurm.Limit { return p.ResumeTimeout }), name)
	}
}
