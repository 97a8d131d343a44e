// Package site makes up clusters of any size in states that benchmarks begin
// from, as a pass would find them.
package site

import (
	"fmt"

	"slurmflex/config"
)

// What all of them have in common.
const (
	Cluster  = "alpha"
	Project  = "demo"
	Region   = "us-central1"
	Zone     = "us-central1-a"
	NodeSet  = "a3" // also the name of its template
	Machine  = "a3-highgpu-8g"
	template = "projects/demo/regions/us-central1/instanceTemplates/a3"
	subnet   = "projects/demo/regions/us-central1/subnetworks/default"
)

// ActiveRequests is the project's quota ACTIVE_RESIZE_REQUESTS in the region.
const ActiveRequests = 5_000

// Text is the configuration of a cluster of so many nodes. More are further
// lines of its slurmflex section.
func Text(nodes int, more string) string {
	return fmt.Sprintf(`slurm_cluster_name: %s
project: %s
partitions:
  train: {partition_name: train, enable_job_exclusive: true, partition_nodeset: [%[3]s]}
nodeset:
  %[3]s:
    nodeset_name: %[3]s
    node_count_dynamic_max: %[4]d
    instance_template: %[5]s
    subnetwork: %[6]s
    zone_policy_allow: [%[7]s]
    dws_flex: {use_job_duration: true, job_duration_margin: 600, max_attempts: 1}
slurmflex:
  max_active_requests: %[8]d
%[9]s`, Cluster, Project, NodeSet, nodes, template, subnet, Zone, ActiveRequests, more)
}

// Config is that configuration, read.
func Config(nodes int) (*config.Config, error) {
	return config.Parse("bench.yaml", []byte(Text(nodes, "")))
}

// Node is the name of a node by its index.
func Node(i int) string { return fmt.Sprintf("%s-%s-%d", Cluster, NodeSet, i) }

// Nodes are the names of n nodes from the first index on.
func Nodes(first, n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = Node(first + i)
	}
	return names
}
