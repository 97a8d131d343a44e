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
)

// ActiveRequests is the project's quota ACTIVE_RESIZE_REQUESTS in the region.
const ActiveRequests = 5_000

// Text is the configuration of a cluster of so many nodes. More are further
// lines of its slurmflex section.
func Text(nodes int, more string) string {
	return TextOf(Places(1), nodes, more)
}

// Config is that configuration, read.
func Config(nodes int) (*config.Config, error) {
	return config.Parse("bench.yaml", []byte(Text(nodes, "")))
}

// Node is the name of a node by its index.
func Node(i int) string { return fmt.Sprintf("%s-%s-%d", Cluster, NodeSet, i) }

// Nodes are the names of n nodes from the first index on.
func Nodes(first, n int) []string { return Places(1)[0].Nodes(first, n) }
